package doctor

import (
	"context"
	"os"
	"runtime"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/plan"
)

// Facts are what is known about this host. What is not known is nil, or empty.
type Facts struct {
	OS           string     `json:"os"`
	Kernel       string     `json:"kernel,omitempty"`
	CPUModel     string     `json:"cpu_model,omitempty"`
	OpenFiles    *OpenFiles `json:"open_files,omitempty"`
	Ports        *Ports     `json:"ports,omitempty"`
	Backlog      *uint64    `json:"listen_backlog,omitempty"`
	Memory       *Memory    `json:"memory,omitempty"`
	Cores        Cores      `json:"cores"`
	Governors    []string   `json:"cpu_governors,omitempty"` // each that some core has
	Load         *float64   `json:"load_1m,omitempty"`
	Steal        *float64   `json:"steal_ratio,omitempty"`              // of all CPU, while the host was examined
	Pressure     *float64   `json:"cpu_pressure_10s_percent,omitempty"` // of the time in which some task waited for a core
	ClockSource  string     `json:"clock_source,omitempty"`
	ClockRead    *int64     `json:"clock_read_ns,omitempty"` // that reading the clock takes
	WallClock    *WallClock `json:"wall_clock,omitempty"`
	TimerSlack   *int64     `json:"timer_slack_ns,omitempty"`
	WakeUps      *WakeUps   `json:"wake_ups,omitempty"`
	RealTime     *Ability   `json:"sched_rr,omitempty"`
	KernelTimes  *Ability   `json:"kernel_timestamps,omitempty"`
	Congestion   string     `json:"congestion_control,omitempty"`
	IOUring      *Ability   `json:"io_uring,omitempty"`
	TUN          *Ability   `json:"tun,omitempty"`
	UserNetworks *Ability   `json:"user_network_namespaces,omitempty"`
	Cgroups      []Cgroup   `json:"cgroups,omitempty"`
	Docker       *Ability   `json:"docker,omitempty"`
	Brokers      []Broker   `json:"brokers,omitempty"`
}

// OpenFiles are the limits of open files.
type OpenFiles struct {
	Process uint64 `json:"process"`           // of one process: the hard limit, to which mqlab raises itself and its brokers
	Ceiling uint64 `json:"ceiling,omitempty"` // that the hard limit can be raised to (fs.nr_open); 0 = not known
	System  uint64 `json:"system,omitempty"`  // of all processes together (fs.file-max); 0 = not known
	InUse   uint64 `json:"in_use,omitempty"`  // of System
}

// Ports are the local ports of outgoing connections.
type Ports struct {
	Low      uint64  `json:"low"`
	High     uint64  `json:"high"`
	Reserved uint64  `json:"reserved,omitempty"`  // of the range, not given out
	TimeWait *uint64 `json:"time_wait,omitempty"` // closed connections whose port still waits
	Reuse    string  `json:"tcp_tw_reuse,omitempty"`
}

// Free is how many connections one source address can have to one broker address.
func (p *Ports) Free() uint64 { return p.High - p.Low + 1 - p.Reserved }

// Memory is in bytes.
type Memory struct {
	Total     uint64 `json:"total_bytes"`
	Available uint64 `json:"available_bytes"`       // without swapping
	Limit     uint64 `json:"limit_bytes,omitempty"` // of the control group this process is in; 0 = none
}

// Cores says which cores this process may use.
type Cores struct {
	Usable int     `json:"usable"`          // by affinity
	Online int     `json:"online"`          // that there are; 0 = not known
	Quota  float64 `json:"quota,omitempty"` // cores' worth of time that the control group grants; 0 = no quota
}

// WallClock says whether somebody keeps the clock right.
type WallClock struct {
	Synchronised bool  `json:"synchronised"`
	MaxError     int64 `json:"max_error_ns"`
}

// WakeUps says how late this host wakes a sleeper, as an event loop sleeps.
type WakeUps struct {
	Late []int64 `json:"late_ns,omitempty"` // ascending
	Why  string  `json:"why,omitempty"`     // there are none
}

// Ability is something that this host can or cannot do, or does not allow.
type Ability struct {
	OK  bool   `json:"ok"`
	Why string `json:"why,omitempty"` // not
}

// Broker is a broker that could be run here.
type Broker struct {
	Subject string `json:"subject"`
	broker.Finding
}

// Quick reads what costs next to nothing: all that Check needs.
func Quick() Facts {
	f := Facts{OS: runtime.GOOS, Cores: Cores{Usable: runtime.NumCPU()}}
	if runtime.GOOS == "linux" {
		readFiles(os.DirFS("/"), &f)
	}
	readLimits(&f)
	return f
}

// examination is how long the host is watched for CPU time that it does not get.
const examination = time.Second

// Examine tries out what cannot be read, which takes about a second, and looks for brokers.
func Examine(ctx context.Context) Facts {
	f := Quick()
	over := time.After(examination)
	before, known := cpuTimes(os.DirFS("/"))
	probe(ctx, &f)
	f.ClockRead = new(clockRead())
	f.Docker = probeDocker(ctx, os.Getenv("DOCKER_HOST"))
	for _, s := range plan.Subjects() {
		f.Brokers = append(f.Brokers, Broker{s.Name, broker.Find(ctx, s)})
	}
	if !known {
		return f
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
	if after, ok := cpuTimes(os.DirFS("/")); ok && after.total > before.total {
		f.Steal = new(float64(after.steal-before.steal) / float64(after.total-before.total))
	}
	return f
}
