package show

// heads are the fields of the JSON that heads of columns stand for: a head is a short word that means other things in other reports.
var heads = map[string]string{
	"client": "clients.clients.client", "library": "clients.clients.library",
	"work": "clients.cells.drain_rounds_ns", "added": "matrix.rows.added_ns", "latency": "matrix.rows.added_ns",
	"jitter": "clients.cells.jitter_rounds_ns", "CPU": "clients.cells.cpu_rounds_ns", "95 %": "rankings.rows.ci_low_ns", "tie": "rankings.rows.marks",
	"msg/s": "matrix.rows.messages_per_s", "MiB": "cells.rss_bytes", "lines": "efforts.lines", "traps": "matrix.rows.traps",
	"total": "breakdown.total_ns", "network": "breakdown.network_ns", "wake-up": "breakdown.wake_ns", "dispatch": "breakdown.dispatch_ns",
	"callback": "breakdown.callback_ns", "not told apart": "breakdown.rest_ns",
	"p50": "lone.p50_ns", "p90": "lone.p90_ns", "in callback": "clients.cells.in_callback_p50_ns", "calls": "clients.cells.syscalls_per_message",
	"queued": "clients.cells.syscalls_per_message_drain", "allocs": "clients.cells.allocations_per_message", "threads": "cells.threads",
	"paced p50": "clients.cells.paced.latency", "burst msg/s": "clients.cells.burst.rounds_per_s", "queue p50": "clients.cells.burst.queueing",
}

// explained has heads explained by the field that they stand for. What stands for none has no explanation.
func explained(of func(word string) string) func(word string) string {
	if of == nil {
		return nil
	}
	return func(word string) string {
		if path, ok := heads[word]; ok {
			return of(path)
		}
		return ""
	}
}
