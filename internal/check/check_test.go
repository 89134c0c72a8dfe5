package check

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// rulesOf are the rules that a table breaks, each once.
func rulesOf(t *testing.T, text string) (list []string) {
	t.Helper()
	table, err := Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Check(table).Findings {
		if f.Text == "" || f.Cause == "" {
			t.Errorf("%+v says too little", f)
		}
		if !slices.Contains(list, f.Rule) {
			list = append(list, f.Rule)
		}
	}
	slices.Sort(list)
	return list
}

func TestRules(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"sound", "broker,sent,received,loss_pct,min_ms,mean_ms,p50_ms,p99_ms,max_ms\nx,100,98,2,0.1,0.3,0.2,1,2\n", ""},
		{"sound, fractions", "sent,received,loss\n100,98,0.02\n", ""},
		{"sound, percent without a sign", "sent,received,loss\n100,98,2.0\n", ""},
		{"sound, rounded up", "sent,recv,p50_ms,p99_ms\n3,2,0.2,0.2\n", ""},
		{"sound, mean above p99", "min,mean,p50,p99,max\n1,51,1,1,10000\n", ""},
		{"sound, three subscribers", "publishers,subscribers,sent,received,loss_pct\n1,3,100,300,0\n", ""},
		{"sound, semicolons and decimal commas", "sent;received;loss %;p50 ms;p99 ms\n1000;995;0,5;0,25;1,5\n", ""},
		{"sound, nothing known of some", "sent,received,p50_ms,p99_ms\n10,10,n/a,\n", ""},
		{"sound, rate of the window", "received,duration_s,delivered_per_s,drained\n110,10,10,10\n", ""},
		{"received without sent", "sent,received,loss_pct\n0,5000,0.00\n", "loss received_without_sent"},
		{"more received than sent", "sent,received\n100,101\n", "more_received_than_sent"},
		{"loss against counters", "sent,received,loss_pct\n100,90,1.0\n", "loss"},
		{"loss count against counters", "sent,received,lost\n100,90,3\n", "loss"},
		{"loss 0 against rates", "subs,offered_rate,recv_rate,loss_pct\n10000,100,94750,0.00\n", "loss_against_rates"},
		{"rate against count", "sent,received,duration_sec,recv_rate\n18200,18200,180,303\n", "rate_against_count"},
		{"more out than in", "pub_rate,sub_rate\n20470,49610\n", "more_out_than_in"},
		{"samples", "received,sample_count,p50_ms,p99_ms\n5000,395862,1,2\n", "samples"},
		{"percentiles of nothing", "received,p50_ms,p99_ms\n0,1,2\n", "figures_without_messages"},
		{"percentiles out of order", "p50_ms,p95_ms,p99_ms\n4,3,5\n1,2,3\n1,2,3\n", "percentile_order"},
		{"percentiles out of order, units", "p50_us,p99_ms\n400,0.3\n", "percentile_order"},
		{"p999 is 99.9", "p99_ns,p999_ns\n5,4\n", "percentile_order"},
		{"mean below minimum", "lat_min_ms,lat_mean_ms,lat_max_ms\n1.0,0.5,2.0\n", "mean"},
		{"mean above maximum", "lat_min_ms,lat_mean_ms,lat_max_ms\n1,3,2\n", "mean"},
		{"mean too small for the median", "mean,p50\n1.0,3.0\n", "mean"},
		{"mean too large for the percentiles", "mean,p99,max\n50,1,100\n", "mean"},
		{"CPU, too", "avg_cpu,max_cpu\n330,0\n", "mean"},
		{"deviation", "min,max,stddev\n1,2,10\n", "deviation"},
		{"negative", "min_ms,p50_ms\n-1,2\n", "negative"},
		{"more than all", "loss_pct\n130\n", "negative"},
		{"cells", "sent,received\n100,100,1\n", "cells"},
		{"sum", "expected,delivered,lost,undelivered_unsent\n100,90,5,4\n", "sum"},
		{
			"shifted columns", "broker,lat_p50_ms,lat_p95_ms,lat_p99_ms,lat_min_ms,lat_max_ms,lat_mean_ms\n" +
				"a,2,4,15,101,0.14,4129\nb,1,2,20,101,0.92,4205\nc,1.2,2,29,101,0.3,4100\n",
			"mean percentile_order shifted_columns",
		},
		{"averaged", "name,p99_ms\na,1.0\nb,2.0\nall,1.5\n", "averaged_percentiles"},
		{"JSON", `[{"sent":10,"received":11}]`, "more_received_than_sent"},
		{"JSON, nested", `{"trials":[{"counts":{"expected":10,"delivered":11},"connections":{"lost":5}}]}`, "more_received_than_sent"},
		{"JSON lines", "{\"p50_ms\":3,\"p99_ms\":2}\n{\"p50_ms\":1,\"p99_ms\":2}", "percentile_order"},
	} {
		if got := strings.Join(rulesOf(t, c.text), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestNames: a finding names the row, the line and both columns.
func TestNames(t *testing.T) {
	table, err := Read([]byte("broker,size,p50 (ms),p99 (ms)\nmosquitto,1 KB,1,2\nnats,16 KB,3.5,2\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := Check(table).Findings
	if len(got) != 1 || got[0].Line != 3 || got[0].Row != "nats 16 KB" || !slices.Equal(got[0].Columns, []string{"p50 (ms)", "p99 (ms)"}) {
		t.Errorf("%+v", got)
	}
}

// TestShiftedOrder: the text gives the order that the figures have.
func TestShiftedOrder(t *testing.T) {
	table, err := Read([]byte("min,p50,max\n5,1,2\n9,3,4\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Check(table).Findings {
		if f.Rule == "shifted_columns" {
			if want := "in 2 of 2 rows the figures have the order p50 ≤ max ≤ min"; f.Text != want {
				t.Errorf("%q, want %q", f.Text, want)
			}
			return
		}
	}
	t.Error("not found")
}

func TestNoTable(t *testing.T) {
	for _, text := range []string{"", "\n\n", "sent,received\n", "{}", "[]", `{"a":`, `[1,2]`} {
		table, err := Read([]byte(text))
		if err == nil && len(Check(table).Checked) > 0 && len(table.Columns) > 0 {
			t.Errorf("%q: %+v", text, table)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte("sent,received,p50_ms,p99_ms,loss %\n1,2,3,4,5\n"))
	f.Add([]byte("a;b;p50\n1,5;\"x\";2\n\n1\n"))
	f.Add([]byte(`{"trials":[{"latency":{"response":{"p50_ns":5,"p999_ns":1}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := Read(data)
		if err != nil {
			return
		}
		if _, err := json.Marshal(Check(table)); err != nil {
			t.Error(err)
		}
	})
}
