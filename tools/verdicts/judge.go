package main

import (
	"context"
	"fmt"
	"slices"
	"sort"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	plfeature "k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

// status is what was said of a node.
type status struct {
	Code    string   `json:"code"`
	Plugin  string   `json:"plugin,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
}

// outcome is a node that preemption may choose, and whom it would delete there now.
type outcome struct {
	Node    string   `json:"node"`
	Victims []string `json:"victims"`
}

// verdict is one line of the output.
type verdict struct {
	ID                string                      `json:"id"`
	PreFilter         *status                     `json:"preFilter,omitempty"`
	Filter            map[string]status           `json:"filter,omitempty"`
	Scores            map[string]map[string]int64 `json:"scores,omitempty"`
	Totals            map[string]int64            `json:"totals,omitempty"`
	Best              []string                    `json:"best,omitempty"`
	Message           string                      `json:"message,omitempty"`
	Preempted         []outcome                   `json:"preempted,omitempty"`
	PostFilterMessage string                      `json:"postFilterMessage,omitempty"`
	Error             string                      `json:"error,omitempty"`
}

// draws is how often a choice among equals is repeated to see all the answers it may give.
const draws = 100

func statusOf(s *fwk.Status) status {
	if s.IsSuccess() { // also nil, which has no plugin to ask for
		return status{Code: s.Code().String()}
	}
	return status{s.Code().String(), s.Plugin(), s.Reasons()}
}

// judge runs the extension points of one attempt, each on every node.
func judge(ctx context.Context, c *testCase) *verdict {
	said := &verdict{Filter: map[string]status{}}
	b, err := newBench(ctx, c)
	if err != nil {
		return &verdict{Error: err.Error()}
	}
	nodes, err := b.snapshot.List()
	if err != nil {
		return &verdict{Error: err.Error()}
	}
	state := framework.NewCycleState()
	diagnosis := framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()}
	feasible, err := b.filter(ctx, state, nodes, said, &diagnosis)
	switch {
	case err != nil:
		return &verdict{Error: err.Error()}
	case len(nodes) == 0:
		said.Message = "no nodes available to schedule pods"
	case len(feasible) > 0:
		err = b.score(ctx, state, feasible, said)
	default:
		said.Message = (&framework.FitError{Pod: c.Pod, NumAllNodes: len(nodes), Diagnosis: diagnosis}).Error()
		if c.Preempt {
			err = b.preempt(ctx, state, &diagnosis, said)
		}
	}
	if err != nil {
		return &verdict{Error: err.Error()}
	}
	return said
}

// filter asks PreFilter and then, for every node that it left, Filter; it returns the nodes that passed.
func (b *bench) filter(
	ctx context.Context, state fwk.CycleState, nodes []fwk.NodeInfo, said *verdict, diagnosis *framework.Diagnosis,
) ([]fwk.NodeInfo, error) {
	result, answer, by := b.framework.RunPreFilterPlugins(ctx, state, b.pod)
	diagnosis.UnschedulablePlugins = by
	if !answer.IsSuccess() {
		if !answer.IsRejected() {
			return nil, answer.AsError()
		}
		diagnosis.NodeToStatus.SetAbsentNodesStatus(answer)
		diagnosis.PreFilterMsg = answer.Message()
		diagnosis.AddPluginStatus(answer)
		whole := statusOf(answer)
		said.PreFilter = &whole
		for _, node := range nodes {
			said.Filter[node.Node().Name] = whole
		}
		return nil, nil
	}
	if !result.AllNodes() {
		left := fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(by)))
		diagnosis.NodeToStatus.SetAbsentNodesStatus(left)
	}
	var feasible []fwk.NodeInfo
	for _, node := range nodes {
		name := node.Node().Name
		if !result.AllNodes() && !result.NodeNames.Has(name) {
			said.Filter[name] = statusOf(diagnosis.NodeToStatus.Get(name))
			continue
		}
		answer := b.framework.RunFilterPluginsWithNominatedPods(ctx, state, b.pod, node)
		if answer.Code() == fwk.Error {
			return nil, answer.AsError()
		}
		said.Filter[name] = statusOf(answer)
		if answer.IsSuccess() {
			feasible = append(feasible, node)
			continue
		}
		diagnosis.NodeToStatus.Set(name, answer)
		diagnosis.AddPluginStatus(answer)
	}
	return feasible, nil
}

// score asks PreScore and Score; what is printed is normalised and weighted.
func (b *bench) score(ctx context.Context, state fwk.CycleState, feasible []fwk.NodeInfo, said *verdict) error {
	if answer := b.framework.RunPreScorePlugins(ctx, state, b.pod, feasible); !answer.IsSuccess() {
		return answer.AsError()
	}
	scored, answer := b.framework.RunScorePlugins(ctx, state, b.pod, feasible)
	if !answer.IsSuccess() {
		return answer.AsError()
	}
	said.Scores, said.Totals = map[string]map[string]int64{}, map[string]int64{}
	for _, node := range scored {
		by := map[string]int64{}
		for _, one := range node.Scores {
			by[one.Name] = one.Score
		}
		said.Scores[node.Name] = by
		said.Totals[node.Name] = node.TotalScore
	}
	for name, total := range said.Totals {
		switch best := said.Best; {
		case len(best) == 0 || total > said.Totals[best[0]]:
			said.Best = []string{name}
		case total == said.Totals[best[0]]:
			said.Best = append(best, name)
		}
	}
	sort.Strings(said.Best)
	return nil
}

// preempt asks PostFilter. Where preemption finds a way, all of its equally good answers are listed.
func (b *bench) preempt(ctx context.Context, state fwk.CycleState, diagnosis *framework.Diagnosis, said *verdict) error {
	outcomes, err := b.outcomes(ctx, state, diagnosis)
	if err != nil {
		return err
	}
	if len(outcomes) > 0 {
		said.Preempted = outcomes
		return nil
	}
	_, answer := b.framework.RunPostFilterPlugins(ctx, state, b.pod, diagnosis.NodeToStatus)
	if answer.IsSuccess() {
		return fmt.Errorf("PostFilter succeeded where the dry run did not")
	}
	said.PostFilterMessage = answer.Message()
	return nil
}

// outcomes makes the choice of DefaultPreemption many times, without acting on it.
func (b *bench) outcomes(ctx context.Context, state fwk.CycleState, diagnosis *framework.Diagnosis) ([]outcome, error) {
	args := b.preemptionArgs()
	if args == nil {
		return nil, nil
	}
	plugin, err := defaultpreemption.New(ctx, args, b.framework, plfeature.NewSchedulerFeaturesFromGates(feature.DefaultFeatureGate))
	if err != nil {
		return nil, err
	}
	evaluator := plugin.Evaluator
	if ok, _ := evaluator.PodEligibleToPreemptOthers(ctx, b.pod, diagnosis.NodeToStatus.Get(b.pod.Status.NominatedNodeName)); !ok {
		return nil, nil
	}
	nodes, err := diagnosis.NodeToStatus.NodesForStatusCode(b.snapshot, fwk.Unschedulable)
	if err != nil || len(nodes) == 0 {
		return nil, err
	}
	var budgets []*policyv1.PodDisruptionBudget
	if budgets, err = evaluator.PdbLister.List(labels.Everything()); err != nil {
		return nil, err
	}
	// All of them: with more than a hundred nodes the real choice is made among some that luck decides.
	candidates, _, err := evaluator.DryRunPreemption(ctx, state, b.pod, nodes, budgets, 0, int32(len(nodes)))
	if len(candidates) == 0 {
		// An error of the dry run is then PostFilter's to tell.
		return nil, nil
	}
	found := map[string]outcome{}
	for range draws {
		choice := evaluator.SelectCandidate(ctx, candidates)
		found[choice.Name()] = outcome{choice.Name(), deleted(choice.Victims().Pods)}
	}
	var all []outcome
	for _, one := range found {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b outcome) int {
		if a.Node < b.Node {
			return -1
		}
		return 1
	})
	return all, nil
}

// preemptionArgs are the arguments of DefaultPreemption, or nil where the profile does without it.
func (b *bench) preemptionArgs() *config.DefaultPreemptionArgs {
	for _, enabled := range b.framework.ListPlugins().PostFilter.Enabled {
		if enabled.Name != defaultpreemption.Name {
			continue
		}
		for _, one := range b.profile.PluginConfig {
			if args, ok := one.Args.(*config.DefaultPreemptionArgs); ok && one.Name == defaultpreemption.Name {
				return args
			}
		}
	}
	return nil
}

// deleted names the victims that are not on their way out already.
func deleted(victims []*v1.Pod) []string {
	names := []string{}
	for _, victim := range victims {
		if victim.DeletionTimestamp == nil {
			names = append(names, victim.Namespace+"/"+victim.Name)
		}
	}
	sort.Strings(names)
	return names
}
