package broker

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/plan"
)

// hiveMQ runs HiveMQ CE (https://github.com/hivemq/hivemq-community-edition/wiki/Configuration), which comes as a library:
// the folder holds its jars and a class that starts it.
//
// As shipped: a listener on the loopback interface for anybody, and no statistics sent to its makers. Every other setting
// is HiveMQ's own default; in particular 1000 messages wait for a client and further ones are dropped, a publisher may
// have 10 messages unacknowledged (MQTT 5), and sessions are kept on disk. The heap is what Java takes by itself, a
// quarter of the memory.
//
// Tuned: a million messages may wait for a client, a publisher may have as many unacknowledged as MQTT allows, and as
// many open files as the system allows.
type hiveMQ struct{}

var hiveMQFiles = javaProgram{folder{
	name: "HiveMQ", home: "HIVEMQ_HOME", proof: "lib/hivemq-community-edition-embedded-*.jar",
	install: "scripts/brokers hivemq downloads it",
}}

func (hiveMQ) find(_ context.Context, binary string) Finding { return hiveMQFiles.find(binary) }

func (hiveMQ) prepare(s *site) (*program, error) {
	port, err := s.port()
	if err != nil {
		return nil, err
	}
	p, err := s.run(nil,
		[]string{
			"--add-opens=java.base/java.lang=ALL-UNNAMED", "--add-opens=java.base/java.nio=ALL-UNNAMED",
			"--add-opens=java.base/sun.nio.ch=ALL-UNNAMED", "--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED",
			"--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
		},
		"-Djava.net.preferIPv4Stack=true", "-cp", s.path+":"+filepath.Join(s.path, "lib", "*"), "Launcher", s.dir)
	if err != nil {
		return nil, err
	}
	p.listen(endpoint{s.scheme(plan.MQTT5), net.JoinHostPort(loopback, port)})
	p.patience = 60 * time.Second
	store, err := s.keyStore()
	if err != nil {
		return nil, err
	}
	config := hiveMQSettings(s, loopback, port, store)
	if err := os.Mkdir(filepath.Join(s.dir, "conf"), 0o700); err != nil {
		return nil, err
	}
	if _, err := s.file(filepath.Join("conf", "config.xml"), hiveMQConfig(config)); err != nil {
		return nil, err
	}
	p.config = append(p.config, config...)
	return p, nil
}

// hiveMQSettings are those of the file; the listener is one for TLS where there is a store of its key.
func hiveMQSettings(s *site, address, port, store string) []Setting {
	listener := "listeners/tcp-listener/"
	if store != "" {
		listener = "listeners/tls-tcp-listener/"
	}
	config := []Setting{
		{listener + "port", port, asWritten},
		{listener + "bind-address", address, asWritten},
	}
	if store != "" {
		config = append(config,
			Setting{listener + "tls/keystore/path", store, asWritten},
			Setting{listener + "tls/keystore/password", storePassword, asWritten},
			Setting{listener + "tls/keystore/private-key-password", storePassword, asWritten},
			Setting{listener + "tls/handshake-timeout", patience, asWritten})
	}
	config = append(config, Setting{"anonymous-usage-statistics/enabled", "false", asWritten})
	if s.variant == Tuned {
		config = append(config,
			Setting{"mqtt/queued-messages/max-queue-size", "1000000", asWritten},
			Setting{"mqtt/receive-maximum/server-receive-maximum", "65535", asWritten},
		)
	}
	return config
}

// hiveMQConfig writes settings, whose keys are paths, as the file config.xml. Settings of one listener stand together.
func hiveMQConfig(config []Setting) string {
	var b strings.Builder
	b.WriteString("<hivemq>\n")
	var open []string
	to := func(path []string) {
		same := 0
		for same < len(open) && same < len(path) && open[same] == path[same] {
			same++
		}
		for i := len(open) - 1; i >= same; i-- {
			fmt.Fprintf(&b, "</%s>\n", open[i])
		}
		for _, name := range path[same:] {
			fmt.Fprintf(&b, "<%s>\n", name)
		}
		open = path
	}
	for _, c := range config {
		path := strings.Split(c.Key, "/")
		last := len(path) - 1
		to(path[:last])
		fmt.Fprintf(&b, "<%s>%s</%s>\n", path[last], c.Value, path[last])
	}
	to(nil)
	b.WriteString("</hivemq>\n")
	return b.String()
}
