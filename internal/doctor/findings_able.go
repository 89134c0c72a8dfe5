package doctor

import (
	"fmt"
	"strings"
)

// say turns an ability into a finding with the status missing where the host lacks it.
func (a *Ability) say(yes, means string, missing Status) Finding {
	switch {
	case a == nil:
		return Finding{}
	case a.OK:
		return Finding{Status: OK, Value: yes, Means: means}
	}
	return Finding{Status: missing, Value: "no: " + a.Why, Means: means}
}

func realTime(f *Facts) Finding {
	d := f.RealTime.say("allowed", "emulated links (backend tun) keep their times on a busy host; without it other programs make their packets late", Note)
	if d.Status == Note {
		d.Change = "sudo prlimit --pid $$ --rtprio=50"
	}
	return d
}

func kernelTimes(f *Facts) Finding {
	d := f.KernelTimes.say("yes", "latency can be split into the way to this host and the way from its kernel to the program", Limits)
	if d.Status == Limits {
		d.Means = "the parts “kernel” and “client” of latency are not known"
	}
	return d
}

func ioUring(f *Facts) Finding {
	d := f.IOUring.say("available", "many sends cost one system call: less CPU for many connections; without it each send is a call of its own", Note)
	if f.IOUring != nil && strings.Contains(f.IOUring.Why, "io_uring_disabled") {
		d.Change = "sudo sysctl -w kernel.io_uring_disabled=0"
	}
	return d
}

func tun(f *Facts) Finding {
	const means = "weak networks (--link) under the kernel's own TCP, brokers and clients unmodified; without it links are made in user space"
	d := f.TUN.say("available", means, Note)
	if u := f.UserNetworks; u != nil && d.Value != "" {
		if u.OK {
			d.Value += "; network namespaces without privilege: yes"
		} else {
			d.Value += "; network namespaces without privilege: no: " + u.Why
		}
	}
	if d.Status == Note && strings.Contains(f.TUN.Why, "no such file") {
		d.Change = "sudo modprobe tun"
	}
	return d
}

func cgroups(f *Facts) Finding {
	var parts []string
	writable := false
	for version := 1; version <= 2; version++ {
		if names := withController(f.Cgroups, version); len(names) > 0 {
			parts = append(parts, fmt.Sprintf("v%d: %s", version, strings.Join(names, " ")))
		}
	}
	if len(f.Cgroups) == 0 {
		return Finding{}
	}
	for _, g := range f.Cgroups {
		writable = writable || g.Writable != nil && *g.Writable && len(g.Controllers) > 0
	}
	d := Finding{Status: OK, Value: strings.Join(append(parts, "writable"), "; "), Means: "a broker can be held to the CPU and memory of a smaller machine (--machine)"}
	if !writable {
		d.Means = "no broker can be held to the CPU and memory of a smaller machine (--machine), except in a container"
		d.Status, d.Value = Note, strings.Join(append(parts, "not writable by this user"), "; ")
	}
	return d
}

func docker(f *Facts) Finding {
	return f.Docker.say("its engine answers", "brokers run as containers (NAME@docker)", Note)
}
