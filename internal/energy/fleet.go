package energy

// Fleet follows the radios of many devices over a span of time.
type Fleet struct {
	From, Until int64
	Radios      []Radio // models; each device has one of each
	devices     map[uint64][]Meter
}

// Packet notes a packet of a device at a time. What lies outside the span is not counted. Packets of one device that are told in another
// order than they came, as by the two directions of a link, are taken to have come together.
func (f *Fleet) Packet(device uint64, at int64) {
	if at < f.From || at >= f.Until {
		return
	}
	meters := f.devices[device]
	if meters == nil {
		if f.devices == nil {
			f.devices = map[uint64][]Meter{}
		}
		meters = make([]Meter, len(f.Radios))
		for i := range meters {
			meters[i].Radio = f.Radios[i]
		}
		f.devices[device] = meters
	}
	for i := range meters {
		m := &meters[i]
		if m.burst {
			at = max(at, m.last)
		}
		_ = m.Packet(at) // it is in order
	}
}

// Use is how long the radios of a fleet were on, by one model.
type Use struct {
	Radio
	On     int64 `json:"on_ns"`  // summed over devices
	Bursts int   `json:"bursts"` // times that they were switched on
}

// Uses are those of all models; devices is how many had any packet.
func (f *Fleet) Uses() (uses []Use, devices int) {
	uses = make([]Use, len(f.Radios))
	for i := range uses {
		uses[i].Radio = f.Radios[i]
	}
	for _, meters := range f.devices {
		for i := range meters {
			on, bursts := meters[i].On(f.Until)
			uses[i].On += int64(on)
			uses[i].Bursts += bursts
		}
	}
	return uses, len(f.devices)
}
