{{/*
One scheduler of several: the chart's values with what its entry sets over them, and what is derived from both.
Called as (list $ $entry); gives YAML. Every template goes through all schedulers with it.
*/}}
{{- define "bayplan.scheduler" -}}
{{- $root := index . 0 -}}
{{- $entry := index . 1 -}}
{{- $one := mergeOverwrite (deepCopy (omit $root.Values "schedulers" "global")) (deepCopy $entry) -}}
{{- $profiles := $one.configuration.profiles | default (list (dict "schedulerName" $one.name)) -}}
{{- $election := dict "leaderElect" true "resourceName" $one.name "resourceNamespace" $root.Release.Namespace -}}
{{- $configuration := mergeOverwrite (dict "leaderElection" $election) $one.configuration (dict "profiles" $profiles) -}}
{{- $_ := set $one "configuration" $configuration -}}
{{- if $one.plugins -}}
{{- $_ := set $one.bayplan "pluginDirs" (append ($one.bayplan.pluginDirs | default list) "plugins") -}}
{{- end -}}
{{- toYaml $one -}}
{{- end -}}

{{/* The file that --config names, both documents. */}}
{{- define "bayplan.config" -}}
{{- toYaml (merge (dict "apiVersion" "kubescheduler.config.k8s.io/v1" "kind" "KubeSchedulerConfiguration") .configuration) }}
{{- if .bayplan }}
---
{{ toYaml (merge (dict "apiVersion" "bayplan.io/v1alpha1" "kind" "BayplanConfiguration") .bayplan) }}
{{- end }}
{{- end -}}

{{/* Where the log of decisions is to be written; empty: nowhere, or extraVolumeMounts has a place for it already. */}}
{{- define "bayplan.recordFolder" -}}
{{- $file := dig "record" "file" "" .bayplan -}}
{{- if $file -}}
{{- if not (hasPrefix "/" $file) -}}
{{- fail (printf "%s: bayplan.record.file: %s: write the whole path, such as /var/lib/bayplan/decisions.jsonl" .name $file) -}}
{{- end -}}
{{- $mounted := false -}}
{{- range .extraVolumeMounts }}{{ if eq .mountPath (dir $file) }}{{ $mounted = true }}{{ end }}{{ end -}}
{{- if not $mounted }}{{ dir $file }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* The lease, as namespace/name. */}}
{{- define "bayplan.lease" -}}
{{- printf "%s/%s" .configuration.leaderElection.resourceNamespace .configuration.leaderElection.resourceName -}}
{{- end -}}

{{/* Called as (list $ $scheduler). */}}
{{- define "bayplan.selector" -}}
app.kubernetes.io/name: {{ (index . 0).Chart.Name }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ (index . 1).name }}
{{- end -}}

{{- define "bayplan.labels" -}}
{{ include "bayplan.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ printf "%s-%s" (index . 0).Chart.Name (index . 0).Chart.Version }}
{{- end -}}

{{/* Two that share a name would overwrite each other; two that serve the same pods would fight for them, unless one stands by. */}}
{{- define "bayplan.check" -}}
{{- $names := dict -}}
{{- $served := dict -}}
{{- range $entry := .Values.schedulers -}}
{{- $s := include "bayplan.scheduler" (list $ $entry) | fromYaml -}}
{{- if hasKey $names $s.name -}}
{{- fail (printf "schedulers: two are called %s: give each a name of its own" $s.name) -}}
{{- end -}}
{{- $_ := set $names $s.name true -}}
{{- $standby := list -}}
{{- range $s.bayplan.standby }}{{ $standby = append $standby .schedulerName }}{{ end -}}
{{- range $s.configuration.profiles -}}
{{- $name := .schedulerName | default "default-scheduler" -}}
{{- if has $name $standby -}}
{{- else if hasKey $served $name -}}
{{- fail (printf "schedulers: %s and %s both serve the pods of schedulerName %s: leave that profile to one of them" (get $served $name) $s.name $name) -}}
{{- end -}}
{{- $_ := set $served $name $s.name -}}
{{- end -}}
{{- end -}}
{{- end -}}
