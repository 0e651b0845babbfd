// Verdicts: what kube-scheduler's own code says of conformance cases.
//
// Reads cases (JSON lines) on standard input and writes a verdict per line on standard output, in the format that
// "bayplan evaluate" prints. The plugins, the framework runtime, the cache and the snapshot are those of the
// kubernetes module in go.mod; only the feeding and the printing are written here. Run by bench/differential.py.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// testCase is one line of the input: a cluster, a pod, perhaps a configuration.
type testCase struct {
	ID      string          `json:"id"`
	Config  json.RawMessage `json:"config"`
	Preempt bool            `json:"preempt"`
	// Queued says that nominated pods are pending in the queue; else they are known to the nominator alone.
	Queued bool    `json:"queued"`
	Pod    *v1.Pod `json:"pod"`

	Nodes                  []*v1.Node                      `json:"nodes"`
	Pods                   []*v1.Pod                       `json:"pods"`
	Namespaces             []*v1.Namespace                 `json:"namespaces"`
	Services               []*v1.Service                   `json:"services"`
	ReplicationControllers []*v1.ReplicationController     `json:"replicationcontrollers"`
	ReplicaSets            []*appsv1.ReplicaSet            `json:"replicasets"`
	StatefulSets           []*appsv1.StatefulSet           `json:"statefulsets"`
	Claims                 []*v1.PersistentVolumeClaim     `json:"persistentvolumeclaims"`
	Volumes                []*v1.PersistentVolume          `json:"persistentvolumes"`
	Classes                []*storagev1.StorageClass       `json:"storageclasses"`
	CSINodes               []*storagev1.CSINode            `json:"csinodes"`
	CSIDrivers             []*storagev1.CSIDriver          `json:"csidrivers"`
	Capacities             []*storagev1.CSIStorageCapacity `json:"csistoragecapacities"`
	Attachments            []*storagev1.VolumeAttachment   `json:"volumeattachments"`
	Budgets                []*policyv1.PodDisruptionBudget `json:"poddisruptionbudgets"`
}

// objects is everything that the API server would list.
func (c *testCase) objects() []runtime.Object {
	all := []runtime.Object{c.Pod}
	for _, pod := range c.Pods {
		if !finished(pod) {
			all = append(all, pod)
		}
	}
	all = add(all, c.Nodes)
	all = add(all, c.Namespaces)
	all = add(all, c.Services)
	all = add(all, c.ReplicationControllers)
	all = add(all, c.ReplicaSets)
	all = add(all, c.StatefulSets)
	all = add(all, c.Claims)
	all = add(all, c.Volumes)
	all = add(all, c.Classes)
	all = add(all, c.CSINodes)
	all = add(all, c.CSIDrivers)
	all = add(all, c.Capacities)
	all = add(all, c.Attachments)
	return add(all, c.Budgets)
}

func main() {
	jobs := flag.Int("jobs", 2, "cases judged at a time")
	flag.Parse()
	metrics.Register()
	// Plugins log what they think of odd objects; the verdict tells it too.
	klog.SetLogger(klog.Logger{})
	if err := run(os.Stdin, os.Stdout, *jobs); err != nil {
		fmt.Fprintln(os.Stderr, "verdicts:", err)
		os.Exit(1)
	}
}

// run judges the cases of a stream, several at a time; the verdicts come in the order of the cases.
func run(in io.Reader, out io.Writer, jobs int) error {
	type slot struct {
		line   []byte
		answer chan []byte
	}
	work, order := make(chan slot), make(chan slot, jobs*4)
	var workers sync.WaitGroup
	for range jobs {
		workers.Go(func() {
			for s := range work {
				s.answer <- answer(s.line)
			}
		})
	}
	var readErr error
	go func() {
		reader := bufio.NewReaderSize(in, 1<<20)
		for {
			line, err := reader.ReadBytes('\n')
			if len(line) > 1 {
				s := slot{line, make(chan []byte, 1)}
				order <- s
				work <- s
			}
			if err != nil {
				if err != io.EOF {
					readErr = err
				}
				break
			}
		}
		close(work)
		close(order)
	}()
	writer := bufio.NewWriter(out)
	defer writer.Flush()
	for s := range order {
		if _, err := writer.Write(append(<-s.answer, '\n')); err != nil {
			return err
		}
	}
	workers.Wait()
	return readErr
}

// answer is the verdict on one line; what goes wrong is said in its "error".
func answer(line []byte) (text []byte) {
	var c testCase
	defer func() {
		if r := recover(); r != nil {
			text, _ = json.Marshal(verdict{ID: c.ID, Error: fmt.Sprintf("panic: %v", r)})
		}
	}()
	said := &verdict{}
	if err := json.Unmarshal(line, &c); err != nil {
		said.Error = "decoding: " + err.Error()
	} else if c.Pod == nil {
		said.Error = "a case needs a pod"
	} else {
		ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
		defer cancel()
		said = judge(ctx, &c)
	}
	said.ID = c.ID
	text, err := json.Marshal(said)
	if err != nil {
		panic(err)
	}
	return text
}
