package doctor

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/summary"
)

// fewConnections is below what scenarios with many clients use.
const fewConnections = 10_000

func openFiles(f *Facts) (d Finding) {
	o := f.OpenFiles
	switch {
	case o == nil:
		return d
	case o.Process > math.MaxInt64:
		return Finding{Status: OK, Value: "unlimited"}
	}
	n := o.Process - min(o.Process, ownFiles)
	if left := o.System - min(o.System, o.InUse); o.System > 0 {
		n = min(n, left/2)
	}
	d = Finding{
		Status: OK, Value: summary.Count(o.Process) + " in one process",
		Means: fmt.Sprintf("allows about %s connections: mqlab and a broker have a file for each", summary.Count(n)),
	}
	if n < fewConnections {
		d.Status = Limits
	}
	if o.Process < o.Ceiling {
		d.Change = raiseOpenFiles(o.Ceiling, o, f.OS)
	}
	return d
}

func ports(f *Facts) (d Finding) {
	p := f.Ports
	if p == nil {
		return d
	}
	d = Finding{Status: OK, Value: fmt.Sprintf("%s (%d to %d)", summary.Count(p.Free()), p.Low, p.High)}
	means := []string{fmt.Sprintf("allows %s connections from one address to one broker address", summary.Count(p.Free()))}
	if p.TimeWait != nil {
		means = append(means, fmt.Sprintf("%s closed ones still wait (TIME_WAIT, up to 60 s)", summary.Count(*p.TimeWait)))
		if *p.TimeWait > p.Free()/2 {
			d.Status = Note
		}
	}
	if reuse, ok := map[string]string{"0": "their ports are not used again before", "1": "their ports may be used again earlier", "2": "their ports may be used again earlier on the loopback interface only"}[p.Reuse]; ok {
		means = append(means, reuse+" (tcp_tw_reuse="+p.Reuse+")")
	}
	d.Means = strings.Join(means, "; ")
	if p.Free() < fewConnections {
		d.Status = Limits
	}
	if p.Free() < widestRange-p.Reserved {
		d.Change = widenPorts(0, f.OS)
	}
	return d
}

func backlog(f *Facts) (d Finding) {
	if f.Backlog == nil {
		return d
	}
	d = Finding{
		Status: OK, Value: summary.Count(*f.Backlog),
		Means: fmt.Sprintf("of clients that connect at once, %s may wait for the broker to accept them; the others try again after a second", summary.Count(*f.Backlog)),
	}
	if *f.Backlog < 1024 {
		d.Status = Limits
	}
	switch {
	case *f.Backlog >= math.MaxUint16:
	case f.OS == "darwin":
		d.Change = "sudo sysctl -w kern.ipc.somaxconn=65535"
	default:
		d.Change = "sudo sysctl -w net.core.somaxconn=65535"
	}
	return d
}

func memory(f *Facts) (d Finding) {
	have, known := f.memory()
	if !known {
		return d
	}
	value := fmt.Sprintf("%s available of %s", summary.Bytes(f.Memory.Available), summary.Bytes(f.Memory.Total))
	if f.Memory.Limit > 0 {
		value += fmt.Sprintf("; limited to %s by a control group", summary.Bytes(f.Memory.Limit))
	}
	d = Finding{
		Status: OK, Value: value,
		Means: fmt.Sprintf("holds the sockets of about %s connections (both ends, 10 kB each), less what broker and mqlab need", summary.Count(thousands(have/(2*socketBytes)))),
	}
	if have < 1<<30 {
		d.Status = Limits
	}
	return d
}

// thousands rounds what is an estimate.
func thousands(n uint64) uint64 { return n - n%1000 }

func congestion(f *Facts) (d Finding) {
	if f.Congestion == "" {
		return d
	}
	return Finding{
		Status: OK, Value: f.Congestion,
		Means:  "how TCP recovers on a slow or lossy network; on the loopback interface it matters little. Every run records it",
		Change: "sudo sysctl -w net.ipv4.tcp_congestion_control=NAME",
	}
}

func brokers(f *Facts) (d Finding) {
	var found, missing []string
	for _, b := range f.Brokers {
		if b.OK {
			found = append(found, strings.TrimSpace(b.Subject+" "+b.Version))
		} else if !slices.Contains(missing, b.Why) { // of containers the same for each broker
			missing = append(missing, b.Why)
		}
	}
	if len(f.Brokers) == 0 {
		return d
	}
	d = Finding{Status: OK, Value: "none", Means: strings.Join(missing, "; ")}
	if len(found) > 0 {
		d.Value = strings.Join(found, ", ")
	}
	if len(missing) > 0 {
		d.Status = Note
	}
	return d
}
