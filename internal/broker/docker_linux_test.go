package broker

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/plan"
)

// mqttAt runs a broker in this process, which the fake engine publishes as that of the container.
func mqttAt(t *testing.T) string {
	t.Helper()
	r, stop, err := serveMochi(&childConfig{Variant: AsShipped})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return r.Address
}

func inDocker(broker, variant string) plan.Subject {
	s := subject(broker, Docker, variant)
	s.Protocol = plan.MQTT5
	return s
}

// edge is a machine as a scenario names it.
var edge = plan.Profile{Name: "1cpu-2gb", CPUs: 1, MemoryBytes: 2 << 30, OpenFiles: 300_000}

func TestContainerIsMadeLimitedAndRemoved(t *testing.T) {
	f := newFakeEngine(t)
	f.hasImage, f.pull = false, `{"status":"Pulling"}`+"\n"+`{"status":"Done"}`+"\n"
	f.ports[1883] = mqttAt(t)
	f.logs = "mosquitto is running\n"
	o := options(t)
	o.Profile = edge
	i := start(t, inDocker("mosquitto", Tuned), o)
	if want := "mqtt://" + f.ports[1883]; i.URL != want || i.Version != "2.0.22" || len(i.PIDs) != 0 {
		t.Errorf("URL %s, want %s; version %s, pids %v", i.URL, want, i.Version, i.PIDs)
	}
	want := map[string]int64{"cpu_millicores": 1000, "memory_bytes": 2 << 30, "open_files": 300_000}
	if diff := cmp.Diff(want, i.Limits); diff != "" {
		t.Error(diff)
	}
	if c := setting(i, "container: memory limit, no swap"); c.Value != "2 GiB" || c.Source != effective {
		t.Errorf("%+v", c)
	}
	if c := setting(i, "set_tcp_nodelay"); c.Value != "true" {
		t.Error("not tuned")
	}
	checkCreated(t, f)
	if err := i.Pause(); err != nil {
		t.Error(err)
	}
	if err := i.Resume(); err != nil {
		t.Error(err)
	}
	until(t, "the logs", func() bool { return strings.Contains(i.StderrTail(), "mosquitto is running") })
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, open := <-i.Exited(); open {
		t.Error("a wanted end was reported")
	}
	name := filepath.Base(i.dir)
	for _, request := range []string{
		"POST /images/create?fromImage=docker.io%2Flibrary%2Feclipse-mosquitto&tag=2.0.22", "POST /containers/create?name=" + name,
		"POST /containers/" + name + "/pause", "POST /containers/" + name + "/unpause",
		"POST /containers/" + name + "/kill?signal=SIGTERM", "DELETE /containers/" + name + "?force=true&v=true",
	} {
		if f.count(request) == 0 {
			t.Errorf("no %s in:\n%s", request, strings.Join(f.requests, "\n"))
		}
	}
}

// checkCreated looks at the request that made the container.
func checkCreated(t *testing.T, f *fakeEngine) {
	t.Helper()
	var got struct {
		Image      string
		Cmd        []string
		Labels     map[string]string
		HostConfig struct {
			Binds              []string
			NanoCpus           int64
			Memory, MemorySwap int64
			AutoRemove         bool
			Ulimits            []map[string]any
			PortBindings       map[string][]map[string]string
		}
	}
	if err := json.Unmarshal(f.bodies["POST /containers/create"], &got); err != nil {
		t.Fatal(err)
	}
	h := got.HostConfig
	switch {
	case got.Image != "eclipse-mosquitto:2.0.22" || !slices.Equal(got.Cmd, []string{"mosquitto", "-c", "/mqlab/mosquitto.conf"}):
		t.Errorf("image %s, command %q", got.Image, got.Cmd)
	case h.NanoCpus != 1e9 || h.Memory != 2<<30 || h.MemorySwap != h.Memory:
		t.Errorf("limits %+v", h)
	case len(h.Ulimits) != 1 || h.Ulimits[0]["Name"] != "nofile" || h.Ulimits[0]["Hard"] != 300000.0:
		t.Errorf("ulimits %v", h.Ulimits)
	case len(h.PortBindings["1883/tcp"]) != 1 || h.PortBindings["1883/tcp"][0]["HostIp"] != loopback || h.PortBindings["1883/tcp"][0]["HostPort"] == "":
		t.Errorf("ports %v", h.PortBindings)
	case got.Labels[ownerLabel] != guard.Identity():
		t.Errorf("labels %v", got.Labels)
	case len(h.Binds) != 1 || !strings.HasSuffix(h.Binds[0], ":/mqlab/mosquitto.conf:ro,Z"):
		t.Fatalf("binds %v", h.Binds)
	}
	path, _, _ := strings.Cut(h.Binds[0], ":")
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(text), "listener 1883 0.0.0.0\nallow_anonymous true\n") {
		t.Errorf("%q, %v", text, err)
	}
	if s, err := os.Stat(path); err != nil || s.Mode().Perm() != 0o644 {
		t.Errorf("the user of the container cannot read it: %v, %v", s.Mode(), err)
	}
}

func TestContainerFailures(t *testing.T) {
	conflict := "driver failed programming external connectivity: Bind for 127.0.0.1:32768 failed: port is already allocated"
	for _, c := range []struct {
		name   string
		edit   func(*fakeEngine)
		image  string
		want   string
		starts int
	}{
		{"image that is not there", func(f *fakeEngine) {
			f.hasImage, f.pull = false, `{"errorDetail":{"message":"manifest unknown"},"error":"manifest unknown"}`+"\n"
		}, "eclipse-mosquitto:0", "mosquitto: image eclipse-mosquitto:0: it cannot be fetched: manifest unknown", 0},
		{"no such name of an image", func(f *fakeEngine) { f.hasImage = false }, "UPPER", "mosquitto: image UPPER:", 0},
		{"create", func(f *fakeEngine) { f.createFails = "invalid mount config" }, "", "mosquitto: the container cannot be made: Error response from daemon: invalid mount config", 0},
		{"start", func(f *fakeEngine) { f.startFails = []string{"exec format error"} }, "", "mosquitto: the container cannot be started: Error response from daemon: exec format error", 1},
		{"port taken for ever", func(f *fakeEngine) { f.startFails = slices.Repeat([]string{conflict}, 10) }, "", "port is already allocated", portTries},
		{"ends at once", func(f *fakeEngine) {
			f.endsAtOnce, f.code, f.logs = true, 3, "starting\nError: unknown option\n"
		}, "", "mosquitto exited with 3 before it was ready: Error: unknown option", 1},
		{"killed for memory at once", func(f *fakeEngine) {
			f.endsAtOnce, f.code, f.state = true, 137, map[string]any{"OOMKilled": true}
		}, "", "mosquitto was killed for memory before it was ready", 1},
		{"published to everybody", func(f *fakeEngine) { f.ports[1883] = "0.0.0.0:1" }, "", "listens on more than the loopback interface: 0.0.0.0", 1},
		{"not published", func(f *fakeEngine) { delete(f.ports, 1883) }, "", "has not published port 1883", 1},
		{"limits not set", func(f *fakeEngine) {
			f.host = func(asked map[string]any) map[string]any { asked["Memory"] = 0; return asked }
		}, "", "machine 1cpu-2gb: the engine has not set its limits", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeEngine(t)
			f.ports[1883] = "127.0.0.1:1"
			c.edit(f)
			o := options(t)
			o.Profile = edge
			s := inDocker("mosquitto", AsShipped)
			s.Image = c.image
			i, err := Start(t.Context(), s, o)
			if err == nil {
				_ = i.Stop(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if n := f.count("POST /containers/mqlab-mosquitto-"); c.starts > 0 && f.starts() != c.starts {
				t.Errorf("%d starts, want %d (%d requests)", f.starts(), c.starts, n)
			}
			if made, removed := f.count("POST /containers/create"), f.count("DELETE /containers/"); made != removed {
				t.Errorf("%d containers made, %d removed", made, removed)
			}
			var memory *MemoryError
			if errors.As(err, &memory) != strings.Contains(c.want, "for memory") {
				t.Errorf("memory error: %v", memory)
			}
		})
	}
}

func (f *fakeEngine) starts() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.requests {
		if strings.HasSuffix(r, "/start") {
			n++
		}
	}
	return n
}

func TestPortTakenOnceIsTriedAgain(t *testing.T) {
	f := newFakeEngine(t)
	f.ports[1883] = mqttAt(t)
	f.startFails = []string{"Bind for 127.0.0.1:32768 failed: port is already allocated"}
	i := start(t, inDocker("mosquitto", AsShipped), options(t))
	if err := i.Stop(t.Context()); err != nil || f.starts() != 2 || f.count("DELETE") != 2 {
		t.Errorf("%d starts, %d removed, %v", f.starts(), f.count("DELETE"), err)
	}
}

// TestContainerDownAndUp: the container stays, and is started again at the same port; nobody is told of a crash.
func TestContainerDownAndUp(t *testing.T) {
	f := newFakeEngine(t)
	f.ports[1883] = mqttAt(t)
	i := start(t, inDocker("mosquitto", AsShipped), options(t))
	url := i.URL
	for n, atOnce := range []bool{false, true} {
		exited := i.Exited()
		if err := i.Down(t.Context(), atOnce); err != nil {
			t.Fatalf("at once %v: %v", atOnce, err)
		}
		if err, open := <-exited; open {
			t.Errorf("a wanted end was reported: %v", err)
		}
		if err := i.Down(t.Context(), atOnce); err == nil {
			t.Error("ended twice")
		}
		if err := i.Up(t.Context()); err != nil {
			t.Fatalf("at once %v: %v", atOnce, err)
		}
		if f.starts() != n+2 || f.count("DELETE") != 0 || i.URL != url {
			t.Errorf("%d starts, %d removed, at %s", f.starts(), f.count("DELETE"), i.URL)
		}
	}
	name := filepath.Base(i.dir)
	for _, signal := range []string{"SIGTERM", "SIGKILL"} {
		if f.count("POST /containers/"+name+"/kill?signal="+signal) == 0 {
			t.Errorf("no %s in:\n%s", signal, strings.Join(f.requests, "\n"))
		}
	}
	f.end(1, nil)
	if err := <-i.Exited(); err == nil {
		t.Error("its end after it was started again is not told")
	}
	if err := i.Stop(t.Context()); err == nil || f.count("DELETE") != 1 {
		t.Errorf("%d removed, %v", f.count("DELETE"), err)
	}
}

// TestSeveralContainers: brokers side by side each have a container; those that are held to a machine cannot share it.
func TestSeveralContainers(t *testing.T) {
	f := newFakeEngine(t)
	f.ports[1883] = mqttAt(t)
	o := options(t)
	first := start(t, inDocker("mosquitto", AsShipped), o)
	o.Beside = first
	second := start(t, inDocker("mosquitto", AsShipped), o)
	if f.count("POST /containers/create") != 2 || first.dir == second.dir {
		t.Errorf("%d containers, in %s and %s", f.count("POST /containers/create"), first.dir, second.dir)
	}
	o.Profile = edge
	if _, err := Start(t.Context(), inDocker("mosquitto", AsShipped), o); err == nil || !strings.Contains(err.Error(), "cannot share one machine") {
		t.Errorf("%v", err)
	}
	f.end(143, nil)
}

func TestContainerThatEndsByItself(t *testing.T) {
	for _, c := range []struct {
		name   string
		code   int
		state  map[string]any
		want   string
		memory bool
	}{
		{"exit", 1, nil, "mosquitto exited with 1 during the trial; it last said: bye", false},
		{"killed", 137, nil, "mosquitto was ended by signal 9 (killed) during the trial; it last said: bye", false},
		{"killed for memory", 137, map[string]any{"OOMKilled": true}, "mosquitto was killed for memory during the trial: its limit is 2 GiB", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeEngine(t)
			f.ports[1883], f.logs = mqttAt(t), "bye\n"
			o := options(t)
			o.Profile = edge
			i := start(t, inDocker("mosquitto", AsShipped), o)
			f.end(c.code, c.state)
			err := <-i.Exited()
			var memory *MemoryError
			if err == nil || err.Error() != c.want || errors.As(err, &memory) != c.memory {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if err := i.Stop(t.Context()); err == nil || err.Error() != c.want {
				t.Errorf("Stop: %v", err)
			}
			if f.count("DELETE") != 1 {
				t.Error("it was not removed")
			}
		})
	}
}

func TestContainerThatDoesNotEnd(t *testing.T) {
	f := newFakeEngine(t)
	f.ports[1883], f.ignoresTerms = mqttAt(t), true
	i := start(t, inDocker("mosquitto", AsShipped), options(t))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no time"))
	if err := i.Stop(ctx); err == nil || err.Error() != "mosquitto was killed: no time" {
		t.Errorf("%v", err)
	}
	if f.count("DELETE") != 1 {
		t.Error("it was not removed")
	}
}

func TestLeftoversOfDeadLabsAreRemoved(t *testing.T) {
	f := newFakeEngine(t)
	f.ports[1883] = mqttAt(t)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	f.left = []map[string]any{
		{"Id": "dead", "Labels": map[string]string{ownerLabel: host + " 4194304 77"}},
		{"Id": "ours", "Labels": map[string]string{ownerLabel: guard.Identity()}},
		{"Id": "elsewhere", "Labels": map[string]string{ownerLabel: "other-" + host + " 4194304 77"}},
		{"Id": "odd", "Labels": map[string]string{ownerLabel: "?"}},
	}
	e, err := openEngine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	e.removeLeftovers(t.Context())
	if f.count("DELETE") != 1 || f.count("DELETE /containers/dead?force=1&v=1") != 1 {
		t.Errorf("%q", f.requests)
	}
	if f.count("GET /containers/json?all=1&filters=%7B%22label%22%3A%7B%22"+ownerLabel) != 1 {
		t.Errorf("%q", f.requests)
	}
}

func TestImageByDigest(t *testing.T) {
	f := newFakeEngine(t)
	digest := "sha256:" + strings.Repeat("ab", 32)
	f.hasImage, f.ports[1883] = false, mqttAt(t)
	s := inDocker("emqx", AsShipped)
	s.Image = "emqx/emqx@" + digest
	i := start(t, s, options(t))
	if f.count("POST /images/create?fromImage=docker.io%2Femqx%2Femqx&tag="+strings.ReplaceAll(digest, ":", "%3A")) != 1 {
		t.Errorf("%q", f.requests)
	}
	if i.Version != "9.8.7" || setting(i, "image").Value != s.Image || setting(i, "image id").Value != "sha256:abc" {
		t.Errorf("version %s, config %v", i.Version, i.Config)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNoEngine(t *testing.T) {
	for host, want := range map[string]string{
		"unix:///nowhere/docker.sock": "no Docker engine answers at /nowhere/docker.sock: no such file or directory (start Docker, or set DOCKER_HOST=unix://PATH)",
		"tcp://10.0.0.1:2375":         "the Docker engine of $DOCKER_HOST is on another host: only unix:// is possible",
	} {
		t.Setenv("DOCKER_HOST", host)
		if f := Find(t.Context(), inDocker("redis", AsShipped)); f.OK || f.Why != want || f.Runtime != Docker || f.Name != "redis" {
			t.Errorf("%+v, want %s", f, want)
		}
		o := options(t)
		if _, err := Start(t.Context(), inDocker("redis", AsShipped), o); err == nil || err.Error() != "redis: "+want {
			t.Errorf("%v", err)
		}
	}
}

func TestFoundWhereTheEngineAnswers(t *testing.T) {
	newFakeEngine(t)
	for name, i := range images {
		f := Find(t.Context(), subject(name, Docker, AsShipped))
		if !f.OK || f.Path != i.reference || f.Version == "" || f.Why != "container "+i.reference {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestExitCodesOfContainers(t *testing.T) {
	for code, want := range map[int]string{
		0: "exited with 0", 3: "exited with 3", 137: "was ended by signal 9 (killed)", 143: "was ended by signal 15 (terminated)", 255: "exited with 255",
	} {
		if got := exitOfCode(code).String(); got != want {
			t.Errorf("%d: %s, want %s", code, got, want)
		}
	}
}
