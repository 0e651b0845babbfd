package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	resourceslicetracker "k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/profile"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// defaultConfig is what a case without a configuration of its own is judged by.
const defaultConfig = `{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration"}`

// bench is one case set up: the first profile's plugins over a snapshot of the cluster.
type bench struct {
	framework framework.Framework
	profile   *config.KubeSchedulerProfile
	snapshot  *internalcache.Snapshot
	informers informers.SharedInformerFactory
	pod       *v1.Pod
}

// settings decodes, defaults and validates a configuration as kube-scheduler does with its --config file.
func settings(raw json.RawMessage) (*config.KubeSchedulerConfiguration, error) {
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage(defaultConfig)
	}
	obj, _, err := scheme.Codecs.UniversalDecoder().Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	cfg, ok := obj.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("a %T is not a KubeSchedulerConfiguration", obj)
	}
	cfg.TypeMeta.APIVersion = "kubescheduler.config.k8s.io/v1"
	return cfg, validation.ValidateKubeSchedulerConfiguration(cfg)
}

// newBench builds what scheduler.New builds, for one case, with a client that has the case's objects.
func newBench(ctx context.Context, c *testCase) (*bench, error) {
	logger := klog.FromContext(ctx)
	cfg, err := settings(c.Config)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	client := fake.NewClientset(c.objects()...)
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods()
	claims := assumecache.NewAssumeCache(logger, factory.Resource().V1().ResourceClaims().Informer(), "ResourceClaim", "", nil)
	slices, err := resourceslicetracker.StartTracker(ctx, resourceslicetracker.Options{
		SliceInformer: factory.Resource().V1().ResourceSlices(),
		KubeClient:    client,
	})
	if err != nil {
		return nil, err
	}
	snapshot := internalcache.NewEmptySnapshot()
	// The order of the queue decides nothing here: pods are in it only to be found as nominated ones.
	queue := internalqueue.NewSchedulingQueue(
		func(fwk.QueuedPodInfo, fwk.QueuedPodInfo) bool { return false }, factory,
		internalqueue.WithPodLister(pods.Lister()))
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	profiles, err := profile.NewMap(ctx, cfg.Profiles, plugins.NewInTreeRegistry(), profile.NewRecorderFactory(broadcaster),
		frameworkruntime.WithComponentConfigVersion(cfg.TypeMeta.APIVersion),
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSharedDRAManager(dynamicresources.NewDRAManager(ctx, claims, slices, factory)),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithSnapshotSharedLister(snapshot),
		frameworkruntime.WithParallelism(2),
		frameworkruntime.WithPodNominator(queue),
		frameworkruntime.WithMetricsRecorder(metrics.NewMetricsAsyncRecorder(10, time.Hour, ctx.Done())),
		frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap()),
		frameworkruntime.WithPodsInPreBind(frameworkruntime.NewPodsInPreBindMap()),
	)
	if err != nil {
		return nil, err
	}
	chosen := &cfg.Profiles[0]
	// Only now are all informers known that the plugins want.
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	cache := internalcache.New(ctx, nil, false)
	for _, node := range c.Nodes {
		cache.AddNode(logger, node)
	}
	for _, pod := range c.Pods {
		switch {
		case finished(pod):
		case pod.Spec.NodeName != "":
			if err := cache.AddPod(logger, pod); err != nil {
				return nil, err
			}
		case pod.Status.NominatedNodeName != "":
			// Terms that cannot be read are left out, as the queue does it.
			info, _ := framework.NewPodInfo(pod)
			if c.Queued {
				queue.Add(ctx, pod)
			}
			queue.AddNominatedPod(logger, info, nil)
		}
	}
	if err := cache.UpdateSnapshot(logger, snapshot); err != nil {
		return nil, err
	}
	return &bench{profiles[chosen.SchedulerName], chosen, snapshot, factory, c.Pod}, nil
}

// finished tells pods that kube-scheduler's pod informer leaves out.
func finished(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// add appends objects of one kind to a list of any kind.
func add[T runtime.Object](all []runtime.Object, some []T) []runtime.Object {
	for _, obj := range some {
		all = append(all, obj)
	}
	return all
}
