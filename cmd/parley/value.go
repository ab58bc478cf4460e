package main

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
)

// values returns the options that read the values of flags. They are used for
// the environment and the file too, so each has one form everywhere.
func values() []kong.Option {
	return []kong.Option{
		kong.KindMapper(reflect.Bool, boolean{}),
		kong.KindMapper(reflect.String, kong.MapperFunc(text)),
		kong.KindMapper(reflect.Int, kong.MapperFunc(number)),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(duration)),
	}
}

// boolean reads true, false, 1 and 0. A flag without a value is true.
type boolean struct{}

func (boolean) IsBool() bool { return true }

func (boolean) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		target.SetBool(true)
		return nil
	}
	switch text := ctx.Scan.Pop().String(); text {
	case "true", "1":
		target.SetBool(true)
	case "false", "0":
		target.SetBool(false)
	default:
		return fmt.Errorf("must be true, false, 1 or 0, not %q", text)
	}
	return nil
}

func text(ctx *kong.DecodeContext, target reflect.Value) error {
	s, err := word(ctx)
	target.SetString(s)
	return err
}

func number(ctx *kong.DecodeContext, target reflect.Value) error {
	s, err := word(ctx)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return fmt.Errorf("must be a whole number such as %s, not %q", ctx.Value.Default, s)
	}
	target.SetInt(int64(n))
	return nil
}

func duration(ctx *kong.DecodeContext, target reflect.Value) error {
	s, err := word(ctx)
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("must be a duration with its unit such as %s, not %q", ctx.Value.Default, s)
	}
	target.SetInt(int64(d))
	return nil
}

// word takes the next value. What begins with a hyphen is none on the command
// line, unless an equals sign stands before it.
func word(ctx *kong.DecodeContext) (string, error) {
	token, err := ctx.Scan.PopValue("value")
	if err != nil {
		return "", fmt.Errorf("needs a value, as in --%s=%s", ctx.Value.Name, ctx.Value.Flag.FormatPlaceHolder())
	}
	return token.String(), nil
}
