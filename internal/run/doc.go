// Package run writes the folder that a run leaves behind, while it is running, and reads it again, also after the
// writer was killed at any instant.
//
// Create starts a folder, Writer.Trial one trial in it, TrialWriter.Finish ends that trial; Open reads everything back.
//
//	runs/20260801-120000-quick-1f3a9c/     UTC, so that names sort by time
//	  run.json                             Manifest; written whole before anything else
//	  trials/1/windows.jsonl               one line per window: counts, and how many values each histogram holds
//	  trials/1/<group>.<metric>.hlog       one HdrHistogram log interval per window that has such a histogram
//	  trials/1/monitor.jsonl               one line per sample of the monitor
//	  trials/1/events.jsonl                one line per Event
//	  trials/1/samples.bin                 optional: every message, see Sample
//	  trials/1/trial.json                  TrialRecord; replaced whole, by rename, when the trial has ended
//	  summary.json                         appears whole when the run has ended
//
// A window's histograms are written before its line, so a line that can be read is complete; a last line that was cut
// is ignored. A trial without trial.json, or with that of its beginning, was cut and is marked so. Anything else that is missing or does not parse is
// reported in Trial.Damage: it is never passed over in silence.
//
// Credentials are never given to this package; the user part of any URL that reaches it is removed before it is written.
package run
