package run

import (
	"io"
	"sync"
	"sync/atomic"
)

const (
	chunkRecords = 1024 // 48 KiB: one write call per thousand messages
	chunkQueue   = 256  // 12 MiB of full chunks may wait for the disk
	chunkSpare   = 4    // allocated ahead for each producer
)

// SampleQueue carries samples from the engines to samples.bin without ever making an engine wait: each producer fills a
// chunk of its own; full chunks go through a bounded queue to one writer goroutine. When the disk is slower than the
// messages for longer than the queue lasts, whole chunks are dropped and their samples counted.
type SampleQueue struct {
	full    chan []byte
	free    chan []byte
	dropped atomic.Uint64
	mu      sync.Mutex // guards producers
	made    []*SampleProducer
	done    chan error
}

// NewSampleQueue writes the header of a samples file to w and starts the writer goroutine; Close ends it.
func NewSampleQueue(w io.Writer) (*SampleQueue, error) {
	if _, err := io.WriteString(w, sampleHeader); err != nil {
		return nil, err
	}
	q := &SampleQueue{
		full: make(chan []byte, chunkQueue),
		free: make(chan []byte, chunkQueue),
		done: make(chan error, 1),
	}
	go q.write(w)
	return q, nil
}

// Producer returns a new handle for one goroutine or event loop.
func (q *SampleQueue) Producer() *SampleProducer {
	p := &SampleProducer{q: q, chunk: newChunk()}
	for range chunkSpare {
		q.recycle(newChunk())
	}
	q.mu.Lock()
	q.made = append(q.made, p)
	q.mu.Unlock()
	return p
}

// Dropped is how many samples were lost so far, because the disk was too slow or failed.
func (q *SampleQueue) Dropped() uint64 { return q.dropped.Load() }

// Close writes what the producers still hold and waits for the writer. No producer may be used any more. It returns the
// first write error.
func (q *SampleQueue) Close() error {
	for _, p := range q.made {
		if len(p.chunk) > 0 {
			q.full <- p.chunk
		}
	}
	close(q.full)
	return <-q.done
}

func (q *SampleQueue) write(w io.Writer) {
	var failed error
	for chunk := range q.full {
		if failed == nil {
			_, failed = w.Write(chunk)
		}
		if failed != nil {
			q.dropped.Add(uint64(len(chunk) / SampleSize))
		}
		q.recycle(chunk)
	}
	q.done <- failed
}

func (q *SampleQueue) recycle(chunk []byte) {
	select {
	case q.free <- chunk[:0]:
	default:
	}
}

func newChunk() []byte { return make([]byte, 0, chunkRecords*SampleSize) }

// SampleProducer records samples for one goroutine.
type SampleProducer struct {
	q     *SampleQueue
	chunk []byte
}

// Record queues one sample. It never blocks, and does not allocate unless the writer falls behind.
func (p *SampleProducer) Record(s *Sample) {
	p.chunk = s.Append(p.chunk)
	if len(p.chunk) == cap(p.chunk) && !p.handOver() {
		p.q.dropped.Add(chunkRecords)
		p.chunk = p.chunk[:0]
	}
}

// Flush hands over what has been recorded, so that a run that is killed keeps it. Call it once per window.
func (p *SampleProducer) Flush() {
	if len(p.chunk) > 0 {
		p.handOver()
	}
}

// handOver gives the chunk to the writer and takes an empty one, or leaves all as it was when the queue is full.
func (p *SampleProducer) handOver() bool {
	select {
	case p.q.full <- p.chunk:
	default:
		return false
	}
	select {
	case p.chunk = <-p.q.free:
	default:
		p.chunk = newChunk()
	}
	return true
}
