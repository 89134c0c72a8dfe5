//go:build unix

package prototest_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/broker/brokertest"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/proto/amqp10"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// artemisScript runs the broker until its standard input ends, which it does even if this process is killed.
const artemisScript = `java -Xmx512m --add-opens=java.base/jdk.internal.misc=ALL-UNNAMED -Dlog4j2.disableJmx=true \
	-Dartemis.home="$HOME" -Dartemis.instance="$PWD" -Dartemis.instance.etc="$PWD" -Ddata.dir="$PWD/data" \
	-cp "$HOME/lib/artemis-boot.jar" org.apache.activemq.artemis.boot.Artemis run & broker=$!
read -r _
kill -TERM $broker; wait $broker
`

const artemisConfig = `<configuration xmlns="urn:activemq"><core xmlns="urn:activemq:core">
<security-enabled>false</security-enabled><persistence-enabled>false</persistence-enabled><max-disk-usage>99</max-disk-usage>
<paging-directory>data/paging</paging-directory><bindings-directory>data/bindings</bindings-directory>
<journal-directory>data/journal</journal-directory><large-messages-directory>data/large</large-messages-directory>
<acceptors><acceptor name="amqp">tcp://%s?protocols=AMQP</acceptor></acceptors>
</core></configuration>`

const artemisBootstrap = `<broker xmlns="http://activemq.apache.org/schema">
<jaas-security domain="activemq"/><server configuration="file:%s"/></broker>`

// artemis starts the broker and returns its address. Without an installed one the test is skipped, or fails where CI is set.
func artemis(t *testing.T) string {
	t.Helper()
	found := brokertest.Need(t, plan.Subject{Broker: "artemis", Runtime: broker.Process})
	dir, addr := t.TempDir(), fmt.Sprintf("127.0.0.1:%d", freePort(t))
	for name, text := range map[string]string{
		"broker.xml":     fmt.Sprintf(artemisConfig, addr),
		"bootstrap.xml":  fmt.Sprintf(artemisBootstrap, filepath.Join(dir, "broker.xml")),
		"management.xml": `<management-context xmlns="http://activemq.apache.org/schema"/>`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	cmd := exec.Command("/bin/sh", "-c", artemisScript)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &log, &log
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + found.Path, "PWD=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	alive, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = alive.Close()
		_ = cmd.Wait()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // whatever is left of the group
		if t.Failed() {
			t.Log(log.String())
		}
	})
	retry := time.NewTicker(100 * time.Millisecond)
	defer retry.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-retry.C {
		conn, err := prototest.Dial(addr, amqp10.NewClient(&amqp10.Config{Mechanism: "ANONYMOUS"}, "ready"))
		if err == nil {
			if _, err = conn.Next(patience); err == nil {
				_ = conn.Goodbye()
				return addr
			}
			_ = conn.Abort()
		}
		if time.Now().After(deadline) {
			t.Fatalf("artemis does not start: %v", err)
		}
	}
}

// artemis10 are settings for topics (multicast addresses) that exist once they are used. Every message says where it
// goes. The queues of a shared subscription have names that are unique in the whole broker.
func artemis10() amqp10.Config {
	topic := amqp10.Terminus{Address: "{topic}", Capabilities: []string{"topic"}}
	shared := amqp10.Terminus{Address: "{topic}::{group}:{topic}", Capabilities: topic.Capabilities}
	return amqp10.Config{Mechanism: "ANONYMOUS", Anonymous: true, SenderFirst: true, Target: topic, Source: topic, Shared: shared}
}

// TestAMQP10Artemis runs the suite against ActiveMQ Artemis.
func TestAMQP10Artemis(t *testing.T) {
	addr := artemis(t)
	t.Run("refused", func(t *testing.T) {
		cfg := artemis10()
		cfg.Mechanism = "EXTERNAL"
		conn, err := prototest.Dial(addr, amqp10.NewClient(&cfg, "refused"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Abort() }()
		if _, err = conn.Next(patience); err == nil || !strings.Contains(err.Error(), "does not offer SASL mechanism EXTERNAL") {
			t.Errorf("an unknown mechanism: %v", err)
		}
	})
	small := artemis10()
	small.FrameMax, small.SessionWindow, small.Credit, small.AckEvery, small.Durable = 1000, 10, 20, 5, true
	for name, cfg := range map[string]amqp10.Config{"transient": artemis10(), "small-frames": small} {
		t.Run(name, func(t *testing.T) {
			prototest.Run(t, amqp10Protocol(cfg, nil), &prototest.Broker{Name: "artemis", Addr: addr})
		})
	}
}
