package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// A setting is the text for a flag that the command line may leave open.
type setting struct {
	text  string
	where string // names it in an error: a variable, or a line of a file
}

// settle finds the settings in the environment and in the file, checks them
// all and offers them to the parser, which uses those that the command line
// leaves open. An empty variable counts as unset.
func settle(ctx *kong.Context) error {
	flags := ctx.Selected().Flags
	found := map[string]setting{}
	if path := configPath(ctx, flags); path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return misuse{fmt.Errorf("reading the configuration file: %w; correct --config or PARLEY_CONFIG", err)}
		}
		if found, err = readConfig(path, data, flags); err != nil {
			return misuse{err}
		}
	}
	for _, flag := range flags {
		for _, name := range flag.Envs {
			if text := os.Getenv(name); text != "" {
				found[flag.Name] = setting{text, name}
			}
		}
		if s, ok := found[flag.Name]; ok {
			if err := check(flag, s.text); err != nil {
				return misuse{fmt.Errorf("%s: %w", s.where, err)}
			}
		}
	}
	ctx.AddResolver(kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		if s, ok := found[flag.Name]; ok {
			return s.text, nil
		}
		return nil, nil
	}))
	return nil
}

// configPath is the file that the command line names, else the environment.
func configPath(ctx *kong.Context, flags []*kong.Flag) string {
	for _, flag := range flags {
		if flag.Name != "config" {
			continue
		}
		if path, _ := ctx.FlagValue(flag).(string); path != "" {
			return path
		}
		for _, name := range flag.Envs {
			if path := os.Getenv(name); path != "" {
				return path
			}
		}
	}
	return ""
}

// check reports whether a flag takes the text.
func check(flag *kong.Flag, text string) error {
	if flag.Enum != "" && !slices.Contains(flag.EnumSlice(), text) {
		return errors.New("must be one of " + strings.Join(flag.EnumSlice(), ", ") + fmt.Sprintf(", not %q", text))
	}
	scan := kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: text})
	return flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: scan}, reflect.New(flag.Target.Type()).Elem())
}
