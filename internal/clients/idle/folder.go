package idle

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// resultFile holds what is known so far, and in the end all, of a run whose folder it is in.
const resultFile = "idle.json"

// Write keeps what is known so far in a run's folder: a reader finds it whole, or as it was before.
func (r *Result) Write(dir string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	name := filepath.Join(dir, resultFile)
	if err := os.WriteFile(name+".tmp", append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

// Load reads it again, however the run ended. A run that ended before clients began to wait has none (fs.ErrNotExist).
func Load(dir string) (*Result, error) {
	b, err := os.ReadFile(filepath.Join(dir, resultFile))
	if err != nil {
		return nil, err
	}
	r := &Result{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", resultFile, err)
	}
	return r, nil
}
