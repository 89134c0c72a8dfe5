package show

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/clients"
)

// TestChanges: a run is not different from itself; a library that takes twice as long is, and no other; what is in one only is named.
func TestChanges(t *testing.T) {
	a, b := recorded(t), recorded(t)
	c, err := clients.Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range c.Changes {
		if x.Different {
			t.Errorf("%+v", x)
		}
	}
	for i := range b.Cells {
		if x := &b.Cells[i]; x.Client == "python-paho" && x.Payload == 256 {
			for k := range x.Drain {
				x.Drain[k] *= 2
			}
		}
	}
	b.Cells = slices.DeleteFunc(b.Cells, func(x clients.Cell) bool { return x.Client == "node-mqttjs" })
	if c, err = clients.Compare(a, b); err != nil {
		t.Fatal(err)
	}
	for _, x := range c.Changes {
		if want := x.Client == "python-paho" && x.Payload == 256 && x.Metric == clients.Drain; x.Different != want {
			t.Errorf("%+v", x)
		}
	}
	var out bytes.Buffer
	if err := WriteChanges(&out, "text", "a", "b", c, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 of 28 comparisons", "python-paho", "1.98–2.02×", "more", "node-mqttjs (256 B, QoS 0)"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if _, err := clients.Compare(a, &clients.Result{}); err == nil {
		t.Error("runs that share nothing were compared")
	}
}
