package trial

import (
	"context"
	"errors"
	"maps"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/run"
)

// start starts the broker, or several of it, or both that a bridge joins.
func (j *job) start(ctx context.Context) (err error) {
	p := &j.trial.Params
	o := broker.Options{
		Place: j.home(), Guard: j.Guard, MaxMessageBytes: p.PayloadBytes, Profile: p.Profile, Persistence: p.Persistence,
		Cores: j.placement.Broker, TLS: p.Connect.TLS.Version != "",
	}
	if j.trial.Subject.Bridge != nil {
		j.broker, j.second, err = broker.StartBridged(ctx, j.trial.Subject, o, p.QoS)
		return err
	}
	for n := range max(p.Instances, 1) {
		b, err := broker.Start(ctx, j.trial.Subject, o)
		if err != nil {
			return err
		}
		if n == 0 {
			j.broker = b
			o.Beside = b // several brokers on one machine
		} else {
			j.others = append(j.others, b)
		}
	}
	return nil
}

// brokers are all that were started.
func (j *job) brokers() (all []*broker.Instance) {
	for _, b := range append([]*broker.Instance{j.broker, j.second}, j.others...) {
		if b != nil {
			all = append(all, b)
		}
	}
	return all
}

// last is the broker that subscribers connect to.
func (j *job) last() *broker.Instance {
	if j.second != nil {
		return j.second
	}
	return j.broker
}

// roots are the processes of all brokers: resources are those of both ends of a bridge together.
func (j *job) roots() (pids []int) {
	for _, b := range j.brokers() {
		pids = append(pids, b.Roots()...)
	}
	return pids
}

func (j *job) stopBrokers(ctx context.Context) error {
	var errs []error
	for _, b := range j.brokers() {
		errs = append(errs, b.Stop(ctx))
	}
	return errors.Join(errs...)
}

// describeSecond adds the broker behind the bridge, with its name before each of its settings.
func (j *job) describeSecond() {
	b, name := &j.record.Broker, j.trial.Subject.Bridge.Broker
	b.Version += " + " + j.second.Version
	b.Limits = maps.Clone(b.Limits)
	for key, limit := range j.second.Limits {
		if b.Limits == nil {
			b.Limits = map[string]int64{}
		}
		b.Limits["+"+name+": "+key] = limit
	}
	for _, s := range j.second.Config {
		b.Config = append(b.Config, run.Setting{Key: "+" + name + ": " + s.Key, Value: s.Value, Source: s.Source})
	}
}
