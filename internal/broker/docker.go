package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
)

// ownerLabel marks our containers with the process that they belong to, so that what is left of one that ended without
// its guard is found and removed by the next.
const ownerLabel = "io.github.mqlab.owner"

// containerFolder is where a broker inside a container keeps what it stores. It goes with the container.
const containerFolder = "/tmp"

// findContainer tells whether the engine answers. The image is fetched when the broker is started.
func findContainer(ctx context.Context, s plan.Subject) Finding {
	f := Finding{Name: s.Broker, Runtime: Docker}
	i, ok := images[s.Broker]
	if !ok {
		f.Why = errUnknown(s).Error()
		return f
	}
	e, err := openEngine(ctx)
	if err != nil {
		f.Why = err.Error()
		return f
	}
	defer e.close()
	f.Path = i.of(s)
	f.OK, f.Version, f.Why = true, tagOf(f.Path), "container "+f.Path
	return f
}

// of is the image of a subject.
func (i *image) of(s plan.Subject) string {
	if s.Image != "" {
		return s.Image
	}
	return i.reference
}

// tagOf is the tag of an image, which tells the version; "" if it has none.
func tagOf(reference string) string {
	reference, _, _ = strings.Cut(reference, "@")
	_, tag, _ := strings.Cut(path.Base(reference), ":")
	return tag
}

// startContainer runs the broker in a container, again if its port was taken.
func startContainer(ctx context.Context, s plan.Subject, o Options) (*Instance, error) {
	i, ok := images[s.Broker]
	switch {
	case !ok:
		return nil, errUnknown(s)
	case o.Place != netns.Host:
		return nil, fmt.Errorf("%s: a container runs on this host, not in another network", s.Broker)
	case o.Beside != nil && o.Profile.Limited() && !o.Profile.Off:
		return nil, fmt.Errorf("%s: several containers cannot share one machine: run %[1]s@process", s.Broker)
	case o.Bridge != nil:
		return nil, fmt.Errorf("%s: from within a container the loopback interface, where the other broker is, cannot be reached: bridge %[1]s@process", s.Broker)
	}
	e, err := openEngine(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Broker, err)
	}
	e.removeLeftovers(ctx)
	reference := i.of(s)
	if err := e.fetch(ctx, reference); err != nil {
		e.close()
		return nil, fmt.Errorf("%s: image %s: %w", s.Broker, reference, err)
	}
	for try := 1; ; try++ {
		instance, err := e.launch(ctx, i, reference, s, o)
		if err == nil {
			return instance, nil
		}
		if !errors.Is(err, errPortTaken) || try == portTries {
			e.close()
			return nil, err
		}
	}
}

// launch makes and starts one container and waits until its broker answers.
func (e *engine) launch(ctx context.Context, i *image, reference string, s plan.Subject, o Options) (*Instance, error) {
	dir, err := o.Guard.MkdirTemp(s.Broker)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Broker, err)
	}
	w := &site{
		ctx: ctx, place: o.Place, guard: o.Guard, dir: dir, version: tagOf(reference),
		protocol: s.Protocol, subscribe: s.SubscribeProtocol(), variant: s.Variant, maxMessage: o.MaxMessageBytes, profile: o.Profile,
		persistence: o.Persistence,
	}
	inside := *w
	inside.dir = containerFolder
	r := i.recipe(&inside)
	c := &box{engine: e, guard: o.Guard, id: guard.Container{Socket: e.socket, Name: filepath.Base(dir)}}
	instance := newInstance(s.Broker, dir, &program{patience: r.patience, config: r.config}, o)
	instance.Version, instance.vessel = w.version, c
	instance.publish, instance.subscribe = plan.SchemeOf(w.protocol), plan.SchemeOf(w.subscribe)
	o.Guard.TrackContainer(c.id)
	if err := c.start(ctx, w, reference, r, instance); err != nil {
		err = c.explain(ctx, instance, err)
		instance.stopping.Store(true)
		if c.logs == nil {
			instance.ended(exit{}) // it never ran
		}
		instance.kill()
		return nil, err
	}
	if err := instance.await(ctx, o.Place, nil); err != nil {
		instance.kill()
		return nil, err
	}
	return instance, nil
}

// explain words an error of a start; a port that somebody else took is told apart.
func (c *box) explain(ctx context.Context, i *Instance, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: start given up: %w", i.name, context.Cause(ctx))
	case errors.Is(err, errEnded):
		select {
		case <-i.done:
			return i.endedEarly()
		case <-time.After(engineLimit):
		}
	case portTaken.MatchString(err.Error()) || strings.Contains(err.Error(), "port is already allocated"):
		return fmt.Errorf("%s: %w (%w)", i.name, err, errPortTaken)
	}
	return fmt.Errorf("%s: %w", i.name, err)
}

// box is a container as a vessel.
type box struct {
	engine *engine
	guard  *guard.Guard
	id     guard.Container
	logs   chan struct{} // closed when all that it writes has been read; nil = it never ran
}

// start makes the container, starts it, and takes over what the engine says of it.
func (c *box) start(ctx context.Context, w *site, reference string, r *recipe, i *Instance) error {
	config, host, err := c.describe(w, reference, r)
	if err != nil {
		return err
	}
	api := c.engine.api
	made, err := api.ContainerCreate(ctx, client.ContainerCreateOptions{Config: config, HostConfig: host, Name: c.id.Name})
	if err != nil {
		return fmt.Errorf("the container cannot be made: %w", err)
	}
	for _, warning := range made.Warnings {
		i.Config = append(i.Config, Setting{"warning of the engine", warning, effective})
	}
	if err := c.run(ctx, i); err != nil {
		return err
	}
	inspected, err := api.ContainerInspect(ctx, c.id.Name, client.ContainerInspectOptions{})
	if err != nil {
		return fmt.Errorf("the container does not tell about itself: %w", err)
	}
	return c.learn(&inspected.Container, reference, w, r, i)
}

// run starts the container, also again, follows what it writes, and tells its end.
func (c *box) run(ctx context.Context, i *Instance) error {
	api := c.engine.api
	waiting, cancel := context.WithCancel(context.Background())
	ended := api.ContainerWait(waiting, c.id.Name, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := api.ContainerStart(ctx, c.id.Name, client.ContainerStartOptions{}); err != nil {
		cancel()
		return fmt.Errorf("the container cannot be started: %w", err)
	}
	logs := make(chan struct{})
	c.logs = logs
	go func() {
		defer close(logs)
		c.engine.follow(waiting, c.id.Name, i.stderr)
	}()
	go c.wait(ended, logs, i, cancel)
	return nil
}

// describe is what the engine is asked for.
func (c *box) describe(w *site, reference string, r *recipe) (*container.Config, *container.HostConfig, error) {
	config := &container.Config{
		Image: reference, Cmd: r.command, Env: r.env,
		Labels: map[string]string{ownerLabel: guard.Identity()}, ExposedPorts: network.PortSet{},
	}
	host := &container.HostConfig{PortBindings: network.PortMap{}}
	for _, number := range r.ports() {
		port, _ := network.PortFrom(number, network.TCP) // every number is a port
		config.ExposedPorts[port] = struct{}{}
		free, err := w.port() // one that the engine finds would be another after a restart
		if err != nil {
			return nil, nil, err
		}
		host.PortBindings[port] = []network.PortBinding{{HostIP: netip.MustParseAddr(loopback), HostPort: free}}
	}
	for n, inside := range slices.Sorted(maps.Keys(r.files)) {
		base := strconv.Itoa(n) + "-" + path.Base(inside)
		// The folder is ours alone; inside the container another user must be able to read the file.
		if err := w.publicFile(base, r.files[inside]); err != nil {
			return nil, nil, err
		}
		host.Binds = append(host.Binds, filepath.Join(w.dir, base)+":"+inside+":ro,Z")
	}
	if p := w.profile; p.Limited() && !p.Off {
		host.NanoCPUs = int64(p.CPUs * 1e9)
		host.Memory, host.MemorySwap = p.MemoryBytes, p.MemoryBytes // both the same: no swap
		host.Ulimits = []*container.Ulimit{{Name: "nofile", Soft: int64(p.OpenFiles), Hard: int64(p.OpenFiles)}}
	}
	return config, host, nil
}

// learn takes over addresses, version and the limits in force.
func (c *box) learn(is *container.InspectResponse, reference string, w *site, r *recipe, i *Instance) error {
	if is.State == nil || is.HostConfig == nil || is.NetworkSettings == nil || is.Config == nil {
		return errors.New("the engine does not tell the container's state")
	}
	if version := is.Config.Labels["org.opencontainers.image.version"]; version != "" && i.Version == "" {
		i.Version = version
	}
	i.Config = append(i.Config, Setting{"image", reference, effective}, Setting{"image id", is.Image, effective})
	address := func(number uint16) (string, error) { return published(is, number) }
	var err error
	for n, l := range r.listeners {
		at := endpoint{Scheme: l.scheme}
		if at.Address, err = address(l.port); err != nil {
			return err
		}
		if n == 0 {
			i.program.scheme, i.program.address = at.Scheme, at.Address
			continue
		}
		i.program.also = append(i.program.also, at)
	}
	if r.readBack != nil {
		at, err := address(r.readBackPort)
		if err != nil {
			return err
		}
		i.program.readBack = func(ctx context.Context) (*report, error) { return r.readBack(ctx, w.place, at) }
	}
	if pid := is.State.Pid; pid > 1 && visible(pid, is.ID) {
		i.PIDs = []int{pid}
	}
	return limitsInForce(is, w.profile, i)
}

// published is where a port of the container is reached.
func published(is *container.InspectResponse, number uint16) (string, error) {
	port, _ := network.PortFrom(number, network.TCP)
	for _, b := range is.NetworkSettings.Ports[port] {
		switch {
		case !b.HostIP.IsLoopback():
			return "", fmt.Errorf("%w: %v", errExposed, b.HostIP)
		case b.HostPort != "" && b.HostPort != "0":
			return net.JoinHostPort(b.HostIP.String(), b.HostPort), nil
		}
	}
	if is.State != nil && !is.State.Running {
		return "", errEnded
	}
	return "", fmt.Errorf("the engine has not published port %d", number)
}

// errEnded says that the container has ended already: its last words say why.
var errEnded = errors.New("the container ended at once")

// limitsInForce notes the limits that the engine has set. One that was asked for and is not there is refused.
func limitsInForce(is *container.InspectResponse, p plan.Profile, i *Instance) error {
	h := is.HostConfig
	if h.NanoCPUs > 0 {
		i.Limits["cpu_millicores"] = h.NanoCPUs / 1e6
		i.Config = append(i.Config, Setting{"container: cpu quota", coreCount(float64(h.NanoCPUs) / 1e9), effective})
	}
	if h.Memory > 0 {
		swap := "no swap"
		if h.MemorySwap != h.Memory {
			swap = "swap not limited"
		}
		i.Limits["memory_bytes"] = h.Memory
		i.Config = append(i.Config, Setting{"container: memory limit, " + swap, memoryWords(h.Memory), effective})
	}
	for _, u := range h.Ulimits {
		if u != nil && u.Name == "nofile" {
			i.Limits["open_files"] = u.Hard
		}
	}
	if p.Limited() && !p.Off && (p.CPUs > 0 && h.NanoCPUs == 0 || p.MemoryBytes > 0 && h.Memory == 0) {
		return fmt.Errorf("machine %s: the engine has not set its limits (its kernel cannot)", p.Name)
	}
	return nil
}

// wait tells the end of the container.
func (c *box) wait(ended client.ContainerWaitResult, logs <-chan struct{}, i *Instance, cancel context.CancelFunc) {
	defer cancel()
	var end exit
	select {
	case r := <-ended.Result:
		end = exitOfCode(int(r.StatusCode))
		ctx, stop := context.WithTimeout(context.Background(), engineLimit)
		defer stop()
		if is, err := c.engine.api.ContainerInspect(ctx, c.id.Name, client.ContainerInspectOptions{}); err == nil && is.Container.State != nil {
			end.memory = is.Container.State.OOMKilled
		}
	case <-ended.Error: // it was removed, or the engine is gone
	}
	select {
	case <-logs:
	case <-time.After(engineLimit):
	}
	if heapExhausted(end, i.stderr.String()) {
		end.memory, end.heap = true, true
	}
	i.ended(end)
}

// exitOfCode reads the exit code of a container: above 128 its first process was ended by a signal.
func exitOfCode(code int) exit {
	if code > 128 && code <= 128+64 {
		return exit{known: true, signal: syscall.Signal(code - 128)}
	}
	return exit{known: true, code: code}
}

func (c *box) within(what func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), engineLimit)
	defer cancel()
	return what(ctx)
}

func (c *box) pause() error {
	return c.within(func(ctx context.Context) error {
		_, err := c.engine.api.ContainerPause(ctx, c.id.Name, client.ContainerPauseOptions{})
		return err
	})
}

func (c *box) resume() error {
	return c.within(func(ctx context.Context) error {
		_, err := c.engine.api.ContainerUnpause(ctx, c.id.Name, client.ContainerUnpauseOptions{})
		return err
	})
}

func (c *box) terminate() error {
	return c.within(func(ctx context.Context) error {
		_, err := c.engine.api.ContainerKill(ctx, c.id.Name, client.ContainerKillOptions{Signal: "SIGTERM"})
		return err
	})
}

// halt ends what runs in the container at once, and leaves the container, with all that it has written, for run.
func (c *box) halt() error {
	return c.within(func(ctx context.Context) error {
		_, err := c.engine.api.ContainerKill(ctx, c.id.Name, client.ContainerKillOptions{Signal: "SIGKILL"})
		return err
	})
}

// serves trusts the engine, which published the port on the loopback interface.
func (c *box) serves(string) error { return nil }

func (c *box) clear() error {
	err := c.guard.RemoveContainer(c.id)
	c.engine.close()
	return err
}
