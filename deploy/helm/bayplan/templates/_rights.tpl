{{/* What decides which rights a scheduler needs, and how its account gets them. */}}

{{/* Whether the configuration names a provider of this type. Called as (list $scheduler type); empty: it does not. */}}
{{- define "bayplan.provides" -}}
{{- $type := index . 1 -}}
{{- range (index . 0).bayplan.providers }}{{ if eq .type $type }}yes{{ end }}{{ end -}}
{{- end -}}

{{/* Whether a profile enables a plugin. Called as (list $scheduler name); empty: none does. */}}
{{- define "bayplan.uses" -}}
{{- $name := index . 1 -}}
{{- range (index . 0).configuration.profiles -}}
{{- range $point, $set := .plugins }}{{ range $set.enabled }}{{ if eq .name $name }}yes{{ end }}{{ end }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* The arguments of a plugin, as YAML: the first that a profile has. Called as (list $scheduler name). */}}
{{- define "bayplan.args" -}}
{{- $name := index . 1 -}}
{{- $found := dict -}}
{{- range (index . 0).configuration.profiles -}}
{{- range .pluginConfig }}{{ if eq .name $name }}{{ $found = merge $found (.args | default dict) }}{{ end }}{{ end -}}
{{- end -}}
{{- toYaml $found -}}
{{- end -}}

{{/* Where scheduling policies are, if a profile goes by any: the ConfigMap as namespace/name, and whether they are objects too. */}}
{{- define "bayplan.policyMap" -}}
{{- $args := include "bayplan.args" (list . "SchedulingPolicy") | fromYaml -}}
{{- if hasKey $args "configMap" }}{{ $args.configMap }}{{ else }}kube-system/scheduling-policies{{ end -}}
{{- end -}}
{{- define "bayplan.policyObjects" -}}
{{- $args := include "bayplan.args" (list . "SchedulingPolicy") | fromYaml -}}
{{- if or (not (hasKey $args "customResources")) $args.customResources }}yes{{ end -}}
{{- end -}}

{{/* Whether it serves pods that name no scheduler, as a kube-scheduler does. */}}
{{- define "bayplan.servesDefault" -}}
{{- range .configuration.profiles }}{{ if eq (.schedulerName | default "default-scheduler") "default-scheduler" }}yes{{ end }}{{ end -}}
{{- end -}}

{{/*
Gives the scheduler's account a role: in one namespace, or everywhere. Called as (list $ $scheduler (dict "to" role "name" binding)),
with "in" the namespace where the role is one of a namespace.
*/}}
{{- define "bayplan.binding" -}}
{{- $one := index . 2 -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ if $one.in }}RoleBinding{{ else }}ClusterRoleBinding{{ end }}
metadata:
  name: {{ $one.name }}
  {{- with $one.in }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "bayplan.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ if $one.in }}Role{{ else }}ClusterRole{{ end }}
  name: {{ $one.to }}
subjects:
  - kind: ServiceAccount
    name: {{ (index . 1).name }}
    namespace: {{ (index . 0).Release.Namespace }}
{{- end -}}
