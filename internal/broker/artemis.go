package broker

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/plan"
)

// artemis runs Apache ActiveMQ Artemis (https://activemq.apache.org/components/artemis/documentation) from the folder of
// its distribution, without the script and the files that "artemis create" makes for each broker.
//
// As shipped: an acceptor on the loopback interface for anybody, and otherwise what "artemis create" writes where it
// differs from Artemis's own defaults: the options of the Java runtime with a heap of 2 GiB, socket buffers of 1 MiB,
// queues that are not deleted when unused. The journal is synced to disk; publishers are blocked when the disk is 90 %
// full.
//
// Tuned: the heap has its full size from the start, the disk may be full to 98 %, and as many open files as the system
// allows.
type artemis struct{}

var artemisFiles = javaProgram{folder{
	name: "Artemis", home: "ARTEMIS_HOME", proof: "lib/artemis-server-*.jar",
	install: "scripts/brokers artemis downloads it",
}}

func (artemis) find(_ context.Context, binary string) Finding { return artemisFiles.find(binary) }

// artemisHeap is what "artemis create" sets.
var artemisHeap = []string{"-Xms512m", "-Xmx2g"}

func (artemis) prepare(s *site) (*program, error) {
	heap := artemisHeap
	disk := "90"
	if s.variant == Tuned {
		heap, disk = []string{"-Xms2g", "-Xmx2g"}, "98"
	}
	p, err := s.run(heap,
		[]string{"-XX:+UseG1GC", "-XX:+UseStringDeduplication", "-XX:AutoBoxCacheMax=20000", "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED"},
		"-Dlog4j2.disableJmx=true", "-Dlog4j2.configurationFile="+filepath.Join(s.dir, "log4j2.properties"),
		"-Dartemis.home="+s.path, "-Dartemis.instance="+s.dir, "-Dartemis.instance.etc="+s.dir, "-Ddata.dir="+filepath.Join(s.dir, "data"),
		"-cp", filepath.Join(s.path, "lib", "artemis-boot.jar"), "org.apache.activemq.artemis.boot.Artemis", "run")
	if err != nil {
		return nil, err
	}
	p.patience = 60 * time.Second
	acceptors, err := artemisAcceptors(s, p)
	if err != nil {
		return nil, err
	}
	core := []Setting{
		{"security-enabled", "false", asWritten},
		{"persistence-enabled", "true", asWritten},
		{"journal-datasync", "true", asWritten},
		{"journal-pool-files", "10", asWritten},
		{"max-disk-usage", disk, asWritten},
	}
	queues := []Setting{{"auto-delete-queues", "false", asWritten}, {"auto-delete-addresses", "false", asWritten}}
	for base, content := range map[string]string{
		"broker.xml":        fmt.Sprintf(artemisBroker, elements(core), acceptors, elements(queues)),
		"bootstrap.xml":     fmt.Sprintf(artemisBootstrap, filepath.Join(s.dir, "broker.xml")),
		"management.xml":    artemisManagement,
		"log4j2.properties": artemisLog,
	} {
		if _, err := s.file(base, content); err != nil {
			return nil, err
		}
	}
	p.config = append(append(p.config, core...), queues...)
	return p, nil
}

// artemisAcceptors gives the program a listener for each protocol that is spoken, and returns them as elements of XML.
func artemisAcceptors(s *site, p *program) (xml string, err error) {
	store, err := s.keyStore()
	if err != nil {
		return "", err
	}
	for _, a := range []struct {
		name, options string
		spoken        []string
	}{
		{"mqtt", "protocols=MQTT", []string{"", plan.MQTT5, plan.MQTT311}},
		{"amqp", "protocols=AMQP;amqpCredits=1000;amqpLowCredits=300", []string{plan.AMQP10}},
	} {
		if !s.speaks(a.spoken...) {
			continue
		}
		port, err := s.port()
		if err != nil {
			return "", err
		}
		at := endpoint{a.name, net.JoinHostPort(loopback, port)}
		options := a.options
		if s.tls {
			at.Scheme += "s"
			options += ";handshake-timeout=60;sslEnabled=true;keyStoreType=PKCS12;keyStorePassword=" + storePassword + ";keyStorePath=" + store
		}
		p.listen(at)
		url := "tcp://" + at.Address + "?" + options + ";tcpSendBufferSize=1048576;tcpReceiveBufferSize=1048576;useEpoll=true"
		p.config = append(p.config, Setting{"acceptor " + a.name, url, asWritten})
		xml += fmt.Sprintf("<acceptor name=%q>%s</acceptor>\n", a.name, url)
	}
	return xml, nil
}

const artemisBroker = `<configuration xmlns="urn:activemq"><core xmlns="urn:activemq:core">
%s<paging-directory>data/paging</paging-directory>
<bindings-directory>data/bindings</bindings-directory>
<journal-directory>data/journal</journal-directory>
<large-messages-directory>data/large-messages</large-messages-directory>
<acceptors>
%s</acceptors>
<address-settings><address-setting match="#">
%s</address-setting></address-settings>
</core></configuration>
`

const artemisBootstrap = `<broker xmlns="http://activemq.apache.org/schema">
<jaas-security domain="activemq"/>
<server configuration="file:%s"/>
</broker>
`

const artemisManagement = `<management-context xmlns="http://activemq.apache.org/schema"/>
`

const artemisLog = `rootLogger.level = WARN
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %m%n
`

// elements writes settings as elements of XML.
func elements(config []Setting) string {
	var b strings.Builder
	for _, c := range config {
		fmt.Fprintf(&b, "<%s>%s</%s>\n", c.Key, c.Value, c.Key)
	}
	return b.String()
}
