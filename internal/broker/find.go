package broker

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/mqlab/mqlab/internal/netns"
)

// places are where brokers are installed besides the user's PATH: Debian puts them where only root looks.
var places = []string{"/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin", "/opt/homebrew/bin"}

// findProgram looks for an installed broker (or takes binary) and asks for its version by running it with arg.
// version finds the version in what it prints.
func findProgram(ctx context.Context, binary, program, debian, arg string, version *regexp.Regexp) Finding {
	path, err := lookUp(binary, program)
	if err != nil {
		if binary != "" {
			return Finding{Why: fmt.Sprintf("%s cannot be run: %v", program, err)}
		}
		return Finding{Why: fmt.Sprintf("%s is not installed: not in PATH nor in /usr/sbin; on Debian and Ubuntu: apt-get install %s",
			program, debian)}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := netns.Host.Command(ctx, path, arg)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput() // the exit code of a help text means nothing
	m := version.FindSubmatch(out)
	if m == nil {
		if err == nil {
			err = fmt.Errorf("it does not tell its version with %s", arg)
		}
		return Finding{Path: path, Why: fmt.Sprintf("%s is not a working %s: %v", path, program, err)}
	}
	return Finding{OK: true, Path: path, Version: string(m[1]), Why: "installed: " + path}
}

func lookUp(binary, program string) (string, error) {
	if binary != "" {
		return exec.LookPath(binary)
	}
	path, err := exec.LookPath(program)
	for _, dir := range places {
		if err == nil {
			break
		}
		path, err = exec.LookPath(filepath.Join(dir, program))
	}
	return path, err
}
