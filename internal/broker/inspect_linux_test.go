package broker

import (
	"fmt"
	"testing"
)

const (
	netHeading = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	netMiddle  = " 00000000:00000000 00:00000000 00000000     0        0 "
)

func TestParseListeners(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"   0: 0100007F:1F90 00000000:0000 0A" + netMiddle + "123 1 0 100 0 0 10 0", "127.0.0.1:8080 123"},
		{"   0: 00000000:0050 00000000:0000 0A" + netMiddle + "5 1", "0.0.0.0:80 5"},
		{"   1: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A" + netMiddle + "7 1", "[::1]:8080 7"},
		{"   1: 0000000000000000FFFF00000100007F:1F90 00000000000000000000000000000000:0000 0A" + netMiddle + "7 1", "127.0.0.1:8080 7"},
		{"   1: 0100007F:1F90 0100007F:9999 01" + netMiddle + "7 1", "none"}, // established
		{"   1: 0100007F 00000000:0000 0A" + netMiddle + "7 1", `unknown address "0100007F"`},
		{"   1: 01007F:1F90 00000000:0000 0A" + netMiddle + "7 1", `unknown address "01007F:1F90"`},
		{"garbage", `unknown line "garbage"`},
		{"", "none"},
	} {
		all, err := parseListeners(netHeading + c.line)
		got := "none"
		switch {
		case err != nil:
			got = err.Error()
		case len(all) > 0:
			got = fmt.Sprintf("%v %d", all[0].at, all[0].inode)
		}
		if got != c.want {
			t.Errorf("%q\n got %s\nwant %s", c.line, got, c.want)
		}
	}
}

func FuzzParseListeners(f *testing.F) {
	f.Add(netHeading + "   0: 0100007F:1F90 00000000:0000 0A" + netMiddle + "123 1\n")
	f.Add(netHeading + "   1: 0000000000000000FFFF00000100007F:1F90 0:0 0A" + netMiddle + "7 1")
	f.Add("\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parseListeners(text)
		for _, l := range all {
			if err != nil || !l.at.IsValid() {
				t.Errorf("%v with %v", l, err)
			}
		}
	})
}
