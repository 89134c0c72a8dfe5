package plan

import (
	"fmt"
	"slices"

	"github.com/mqlab/mqlab/internal/scenario"
)

// Options are what Resolve cannot know by itself.
type Options struct {
	// Seed is used if the scenario has none; below 2^53.
	Seed uint64
	// Installed reports whether a process subject that auto may stand for is there. Nil: none is.
	Installed func(Subject) bool
	// Version is that of a broker that is installed here, "" if it is not known. Nil: none is known.
	Version func(Subject) string
	// Unfit says why the host cannot carry out a trial, "" if it can. It is asked where the scenario wants only what fits. Nil:
	// everything fits.
	Unfit func(Estimate) string
	// SearchLimit says how many deliveries a limit of a search needs to be decided. Nil: one.
	SearchLimit func(text string) int
	// Sockets is how many connections one process of the generator can have; 0 = not known: one process has all.
	Sockets int
	// ReadFile reads a payload file. Nil: there is none.
	ReadFile func(name string) ([]byte, error)
}

// Resolve makes every choice that a scenario leaves open. The error holds everything that is wrong, as scenario.Errors.
func Resolve(s *scenario.Scenario, o Options) (*Plan, error) {
	points, problems := s.Points()
	r := resolver{options: o, problems: problems, noLimits: s.MachineIgnored()}
	subjects := r.subjects(s.Subjects)
	params := make([]Params, len(points))
	able := make([][]bool, len(points)) // of each subject at a point
	for i := range points {
		params[i] = r.params(&points[i])
		able[i] = r.able(s, &points[i], params[i].Set, subjects)
		r.checkLoad(&points[i], &params[i])
		params[i].Generators = r.generators(points[i].Engine.Generators, params[i], subjects)
		if params[i].Generators > 1 && params[i].Link.Emulated() {
			r.problems.Add(points[i].At("engine.generators"), "engine.generators", "only one process can use an emulated link: leave it out")
		}
	}
	params, able = r.fit(s, points, subjects, params, able)
	p := &Plan{
		LeftOut:     r.leftOut,
		Scenario:    s.Name,
		Description: s.Description,
		Seed:        o.Seed,
		Repeat:      s.Repeat,
		Subjects:    subjects,
	}
	for _, l := range s.Limits {
		p.Limits = append(p.Limits, l.Text)
	}
	p.Tariffs = r.tariffs(s)
	if s.Seed != nil {
		p.Seed = *s.Seed
	}
	if s.Searches() {
		r.search(s, p, params, able)
		if err := r.problems.Err(); err != nil {
			return nil, err
		}
		return p, nil
	}
	if n := len(subjects) * len(params) * s.Repeat; n > maxTrials {
		r.problems.Add(s.At("matrix"), "matrix", "%d trials are too many: at most %d", n, maxTrials)
	} else {
		p.Trials = interleave(p.Seed, subjects, params, able, s.Repeat)
		r.checkTotal(s, p)
	}
	p.Needs = p.needs()
	if err := r.problems.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// interleave puts the trials in order: within a repetition the points as written, at each point all subjects one after
// the other. Every repetition starts with the next subject (A B C, B C A, C A B), so that neither a drifting machine
// nor the place in the row favours one.
func interleave(seed uint64, subjects []Subject, points []Params, able [][]bool, repeat int) []Trial {
	var trials []Trial
	for rep := range repeat {
		for point, params := range points {
			for i := range subjects {
				s := (i + rep) % len(subjects)
				if !able[point][s] {
					continue
				}
				seed := derive(seed, point, rep)
				trials = append(trials, Trial{
					ID:         len(trials) + 1,
					Cell:       point*len(subjects) + s + 1,
					Point:      point + 1,
					Repetition: rep + 1,
					Seed:       seed,
					Subject:    subjects[s],
					Params:     params,
					Outages:    params.Outages.schedule(params.Phases.Measure, seed),
				})
			}
		}
	}
	return trials
}

// derive mixes the seed of a point and repetition out of the plan's (the finalizer of SplitMix64, Steele et al. 2014).
func derive(seed uint64, point, rep int) uint64 {
	z := seed
	for _, n := range []uint64{uint64(point), uint64(rep)} {
		z += (n + 1) * 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
	}
	return z >> 11
}

// resolver collects problems while it resolves.
type resolver struct {
	leftOut  []LeftOut
	noLimits bool
	options  Options
	problems scenario.Errors
}

// subjects reads the subjects and expands auto.
func (r *resolver) subjects(written []scenario.Subject) []Subject {
	var list []Subject
	auto := map[string]bool{}
	seen := func(name string) bool {
		return slices.ContainsFunc(list, func(s Subject) bool { return s.Name == name })
	}
	for _, w := range written {
		if w.Subject == "auto" {
			if w.Auth != (scenario.Auth{}) || w.TLS != (scenario.TLS{}) {
				r.problems.Add(w.At, "subjects", "auth and tls are for a single external broker, not for auto")
			}
			for _, s := range r.automatic() {
				if !seen(s.Name) {
					list, auto[s.Name] = append(list, s), true
				}
			}
			continue
		}
		s, err := ParseSubject(w.Subject)
		if err != nil {
			r.problems.Add(w.At, "subjects", "%v", err)
			continue
		}
		s.Image, s.Auth, s.TLS = w.Image, Auth(w.Auth), TLS(w.TLS)
		r.checkAccess(w.At, &s)
		switch {
		case auto[s.Name]:
		case seen(s.Name):
			r.problems.Add(w.At, "subjects", "%s is written twice", s.Name)
		default:
			list = append(list, s)
		}
	}
	return list
}

// automatic are the subjects that auto stands for on this machine.
func (r *resolver) automatic() []Subject {
	var list []Subject
	for _, name := range automatic {
		s, err := ParseSubject(name)
		if err == nil && (s.Runtime == "embedded" || r.options.Installed != nil && r.options.Installed(s)) {
			list = append(list, s)
		}
	}
	return list
}

// params takes over a point of the matrix.
func (r *resolver) params(p *scenario.Point) Params {
	l := &p.Load
	out := Params{
		Pattern:      l.Pattern,
		Publishers:   l.Publishers,
		Subscribers:  l.Subscribers,
		RatePerS:     l.Rate.Total(l.Publishers),
		Pacing:       l.Pacing,
		Spread:       float64(l.Spread),
		RampToPerS:   l.Ramp.To.Total(l.Publishers),
		Burst:        Burst(l.Burst),
		PayloadBytes: r.payloadBytes(p),
		PayloadForm:  l.Payload.Form,
		PayloadFile:  l.Payload.File,
		PayloadText:  l.Payload.Text,
		QoS:          uint8(l.QoS),
		Retain:       l.Retain,
		Storage:      l.Storage,
		Topic:        l.Topic,
		ClientID:     l.ClientID,
		Connect:      connect(p),
		Phases:       Phases(p.Phases),
		Engine:       p.Engine.Kind,
		Loops:        p.Engine.Loops,
		Quantum:      string(p.Engine.Quantum),
		Send:         unlessAuto(p.Engine.Send),
		Writes:       unlessAuto(p.Engine.Writes),
		NoDelay:      p.Engine.NoDelay,
		Verify:       p.Engine.Verify,
		Samples:      p.Samples,
		Persistence:  p.Broker.Persistence,
		Profile: Profile{
			Name: p.Machine.Name, CPUs: p.Machine.CPUs, MemoryBytes: p.Machine.Memory, OpenFiles: p.Machine.Files,
			Off: p.Machine.Name != "" && r.noLimits,
		},
	}
	out.Link = r.link(p)
	if l.Rate.Max {
		out.Pacing = "max"
	}
	if l.QoS > 0 {
		out.Window = l.Window
	}
	if p.Engine.Pin != "auto" {
		out.Pin = p.Engine.Pin
	}
	if p.Broker.Instances > 1 {
		out.Instances = p.Broker.Instances
	}
	for _, f := range p.Faults {
		kind, length := f.Kind()
		out.Faults = append(out.Faults, Fault{At: f.At, Kind: kind, For: length})
	}
	out.Outages = outages(p)
	for _, a := range p.Set {
		out.Set = append(out.Set, Assignment(a))
	}
	return out
}

// unlessAuto leaves out what is to be chosen when the trial runs.
func unlessAuto(choice string) string {
	if choice == "auto" {
		return ""
	}
	return choice
}

func connect(p *scenario.Point) Connect {
	c := &p.Connect
	sources, _ := scenario.Addresses(c.SourceAddresses) // was checked
	return Connect{
		Pause:          c.Backoff.Fixed(),
		TLS:            encryption(&c.TLS),
		RatePerS:       c.Rate.PerSecond,
		AtOnce:         c.AtOnce,
		Sources:        sources,
		ChurnPerS:      c.Churn.PerSecond,
		Channels:       sharing(c.Channels),
		Timeout:        c.Timeout,
		KeepAlive:      c.KeepAlive,
		CleanStart:     c.CleanStart,
		SessionExpiry:  c.SessionExpiry,
		ReceiveMaximum: c.ReceiveMaximum,
		MaxPacketBytes: int(c.MaxPacket),
		WillTopic:      c.Will.Topic,
		WillPayload:    c.Will.Payload,
		Reconnect:      c.Reconnect,
		HoldAcks:       p.Subscriber.HoldAcks,
		ReadBytesPerS:  int(p.Subscriber.ReadRate),
		AckWait:        p.Subscriber.AckWait,
	}
}

// payloadBytes is the size of the whole payload. A file is read to know it.
func (r *resolver) payloadBytes(p *scenario.Point) int {
	l := &p.Load.Payload
	content := []byte(l.Text)
	switch {
	case l.File == "" && l.Text == "":
		return int(l.Size)
	case l.File != "":
		var err error
		if content, err = r.readFile(l.File); err != nil {
			r.problems.Add(p.At("load.payload.file"), "load.payload.file", "%v", err)
			return 0
		}
	}
	tail, err := Tail(l.Form, content)
	bytes := tailOffset(l.Form) + len(tail)
	if bytes > scenario.MaxSize {
		err = fmt.Errorf("is too large: at most %d bytes with the stamp", scenario.MaxSize)
	}
	if err != nil {
		key := "load.payload.text"
		if l.File != "" {
			key = "load.payload.file"
		}
		r.problems.Add(p.At(key), key, "%v", err)
	}
	return bytes
}

func (r *resolver) readFile(name string) ([]byte, error) {
	if r.options.ReadFile == nil {
		return nil, fmt.Errorf("cannot read %s here", name)
	}
	return r.options.ReadFile(name)
}

// sharing is how many clients share a connection; a single one has it to itself.
func sharing(channels int) int {
	if channels == 1 {
		return 0
	}
	return channels
}
