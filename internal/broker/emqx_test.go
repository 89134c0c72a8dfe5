package broker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
)

// installEMQX makes a folder that looks like an installation; its program runs body.
func installEMQX(t *testing.T, body string) (home string) {
	t.Helper()
	home = t.TempDir()
	for name, text := range map[string]string{
		"bin/emqx": "#!/bin/sh\n" + body, "releases/start_erl.data": "15.2.3 5.8.9\n",
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func TestWhereEMQXIsFound(t *testing.T) {
	home := installEMQX(t, "exit 1\n")
	path := filepath.Join(home, "bin", "emqx")
	elsewhere := t.TempDir() // as a package has it: a link in PATH
	if err := os.Symlink(path, filepath.Join(elsewhere, "emqx")); err != nil {
		t.Fatal(err)
	}
	bare := filepath.Join(t.TempDir(), "emqx")
	if err := os.WriteFile(bare, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, home, path, binary, why string }{
		{"by home", home, "", "", "by $EMQX_HOME: " + path},
		{"home before path", home, elsewhere, "", "by $EMQX_HOME: " + path},
		{"in path", "", elsewhere, "", "installed: " + filepath.Join(elsewhere, "emqx")},
		{"given", "", "", path, "given: " + path},
		{"nowhere", "", "/nowhere", "", "EMQX cannot be started here: emqx is not in PATH and $EMQX_HOME is not set; Debian has no package of it: take emqx@docker, or give its URL (mqtt://HOST:1883)"},
		{"wrong home", "/nowhere", elsewhere, "", "emqx cannot be run: exec: \"/nowhere/bin/emqx\": stat /nowhere/bin/emqx: no such file or directory"},
		{"no installation around it", "", filepath.Dir(bare), "", bare + " is not a working emqx: beside its folder bin there is no releases/start_erl.data"},
	} {
		t.Setenv("EMQX_HOME", c.home)
		t.Setenv("PATH", c.path)
		f := emqx{}.find(t.Context(), c.binary)
		ok := c.name == "by home" || c.name == "home before path" || c.name == "in path" || c.name == "given"
		if f.Why != c.why || f.OK != ok || ok && f.Version != "5.8.9" {
			t.Errorf("%s: %+v\nwant %s", c.name, f, c.why)
		}
	}
}

// emqxVariables are what a container, or a process besides its own surroundings, is given.
var emqxVariables = map[string][]string{
	AsShipped: {
		"EMQX_LISTENERS__TCP__DEFAULT__BIND=@",
		"EMQX_LISTENERS__SSL__DEFAULT__ENABLE=false",
		"EMQX_LISTENERS__WS__DEFAULT__ENABLE=false",
		"EMQX_LISTENERS__WSS__DEFAULT__ENABLE=false",
		"EMQX_DASHBOARD__LISTENERS__HTTP__BIND=0",
	},
	Tuned: {
		"EMQX_LISTENERS__TCP__DEFAULT__BIND=@",
		"EMQX_LISTENERS__SSL__DEFAULT__ENABLE=false",
		"EMQX_LISTENERS__WS__DEFAULT__ENABLE=false",
		"EMQX_LISTENERS__WSS__DEFAULT__ENABLE=false",
		"EMQX_DASHBOARD__LISTENERS__HTTP__BIND=0",
		"EMQX_MQTT__MAX_PACKET_SIZE=1179648B",
		"EMQX_MQTT__MAX_INFLIGHT=65535",
		"EMQX_MQTT__MAX_MQUEUE_LEN=infinity",
		"EMQX_LISTENERS__TCP__DEFAULT__TCP_OPTIONS__BACKLOG=4096",
		"EMQX_SYS_TOPICS__SYS_MSG_INTERVAL=disabled",
	},
}

func emqxSite(t *testing.T, variant string) *site {
	s := &site{ctx: t.Context(), place: netns.Host, dir: "/tmp/mqlab-emqx-x", variant: variant, protocol: plan.MQTT5, subscribe: plan.MQTT5}
	if variant == Tuned {
		s.maxMessage = 1 << 20
	}
	return s
}

func withListener(variables []string, listener string) (all []string) {
	for _, v := range variables {
		all = append(all, strings.ReplaceAll(v, "@", listener))
	}
	return all
}

func TestWhatEMQXIsGiven(t *testing.T) {
	for variant, variables := range emqxVariables {
		r := emqxImage(emqxSite(t, variant))
		if diff := cmp.Diff(withListener(variables, "0.0.0.0:1883"), r.env); diff != "" || len(r.command)+len(r.files) > 0 {
			t.Errorf("container, %s: %s", variant, diff)
		}
		p, err := emqx{}.prepare(emqxSite(t, variant))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"foreground"}, p.args); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(withListener(variables, p.address), p.env[len(p.env)-len(variables):]); diff != "" {
			t.Errorf("process, %s: %s", variant, diff)
		}
		if len(p.config) != len(variables) || p.config[0].Key != "listeners.tcp.default.bind" {
			t.Errorf("reported: %v", p.config)
		}
	}
	want := []string{
		"EMQX_NODE__NAME=mqlab30630@127.0.0.1",
		"EMQX_NODE__COOKIE=secret",
		"EMQX_NODE__DATA_DIR=/d/data",
		"EMQX_LOG_DIR=/d/log",
		"EMQX_LOG__CONSOLE__LEVEL=warning",
		"EMQX_RPC__PORT_DISCOVERY=manual",
		"EMQX_RPC__TCP_SERVER_PORT=35001",
		"EMQX_RPC__LISTEN_ADDRESS=127.0.0.1",
		"ERL_FLAGS=-kernel inet_dist_use_interface {127,0,0,1}",
	}
	if diff := cmp.Diff(want, emqxEnvironment("/d", "35000", "35001", "secret")); diff != "" {
		t.Error(diff)
	}
}

// TestEMQXWithTLS: the listener is one for TLS, with a certificate and its key, and the one without is off.
func TestEMQXWithTLS(t *testing.T) {
	s := emqxSite(t, AsShipped)
	s.tls, s.dir = true, t.TempDir()
	p, err := emqx{}.prepare(s)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"EMQX_LISTENERS__SSL__DEFAULT__BIND=" + p.address,
		"EMQX_LISTENERS__TCP__DEFAULT__ENABLE=false",
		"EMQX_LISTENERS__WS__DEFAULT__ENABLE=false",
		"EMQX_LISTENERS__WSS__DEFAULT__ENABLE=false",
		"EMQX_DASHBOARD__LISTENERS__HTTP__BIND=0",
		"EMQX_LISTENERS__SSL__DEFAULT__SSL_OPTIONS__CACERTFILE=" + filepath.Join(s.dir, certBase),
		"EMQX_LISTENERS__SSL__DEFAULT__SSL_OPTIONS__CERTFILE=" + filepath.Join(s.dir, certBase),
		"EMQX_LISTENERS__SSL__DEFAULT__SSL_OPTIONS__KEYFILE=" + filepath.Join(s.dir, keyBase),
		"EMQX_LISTENERS__SSL__DEFAULT__SSL_OPTIONS__HANDSHAKE_TIMEOUT=60000ms",
	}
	if diff := cmp.Diff(want, p.env[len(p.env)-len(want):]); diff != "" || p.scheme != "mqtts" {
		t.Errorf("%s: %s", p.scheme, diff)
	}
}

// TestEMQXRuns has a stand-in for EMQX that takes its configuration as EMQX does and hands it to mosquitto.
func TestEMQXRuns(t *testing.T) {
	real := Find(t.Context(), need(t, subject("mosquitto", Process, AsShipped)))
	home := installEMQX(t, `[ "$1" = foreground ] && [ $# = 1 ] || exit 9
printf 'listener %s 127.0.0.1\nallow_anonymous true\nuser root\n' "${EMQX_LISTENERS__TCP__DEFAULT__BIND##*:}" > conf
mkdir "$EMQX_NODE__DATA_DIR" "$EMQX_LOG_DIR" && exec `+real.Path+" -c conf\n")
	t.Setenv("EMQX_HOME", home)
	i := start(t, subject("emqx", Process, Tuned), options(t))
	if i.Version != "5.8.9" || setting(i, "mqtt.max_mqueue_len").Value != "infinity" {
		t.Errorf("version %s, config %v", i.Version, i.Config)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRecipes: each broker's container listens everywhere inside, at what is published, in both variants.
func TestRecipes(t *testing.T) {
	for name, i := range images {
		for _, variant := range []string{AsShipped, Tuned} {
			s := &site{ctx: t.Context(), place: netns.Host, guard: &guard.Guard{}, variant: variant, profile: plan.Profile{Name: "x", MemoryBytes: 1 << 30}}
			r := i.recipe(s)
			if len(r.listeners) == 0 || r.listeners[0].port == 0 || r.patience == 0 {
				t.Errorf("%s:%s: %+v", name, variant, r)
			}
			if !strings.Contains(i.reference, ":") || strings.HasSuffix(i.reference, ":latest") {
				t.Errorf("%s: %s moves", name, i.reference)
			}
			given := strings.Join(append(append([]string{}, r.command...), r.env...), " ")
			for _, text := range r.files {
				given += text
			}
			if strings.Contains(given, loopback) {
				t.Errorf("%s listens where nobody outside of the container comes: %s", name, given)
			}
			if java := name == "hivemq" || name == "artemis"; java != strings.Contains(given, "-Xmx512m") {
				t.Errorf("%s:%s: the heap of a machine of 1 GiB: %s", name, variant, given)
			}
		}
	}
}
