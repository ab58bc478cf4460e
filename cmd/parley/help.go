package main

import (
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

const about = `Parley serves an HTTP + JSON API with first-rate manners: pages, versions,
problem details, safe retries. On embedded SQLite, or PostgreSQL for many nodes.`

// endings stand below the help of a command, by its name.
var endings = map[string]string{
	"": `
Examples:
  parley serve                           # http://127.0.0.1:8080, data in ./parley-data
  parley serve --addr :9000              # on every interface
  parley serve --help                    # every setting
  parley listen --secret whsec_…         # webhooks, as they come
  parley diff old.yaml new.yaml          # does the change break a client?

Documentation: https://github.com/parley-api/parley/tree/main/docs
`,
	"diff": diffEnding,
	"serve": `
Every flag can also be a variable of the environment, named in parentheses, or
a line of the file that --config names. A flag beats the environment, and the
environment beats the file:

  # parley.yaml
  addr: 0.0.0.0:8080
  rate-limit: 600/1m
  trusted-proxies: [10.0.0.0/8]

Examples:
  parley serve
  parley serve --addr 127.0.0.1:0        # a free port; the first line printed names it
  parley serve --config parley.yaml --log-level debug
  PARLEY_DATABASE=postgres://parley@db/parley parley serve --base-url https://api.example.com

Documentation: https://github.com/parley-api/parley/tree/main/docs, and /docs of a running service.
`,
	"listen": `
A delivery whose signature fails is answered with 401 and printed with the step
that failed. One that was accepted before is answered with 200 and printed as a
duplicate; it is not handed on again. Without --secret nothing is verified:
look at what comes, learn the secret where you register the endpoint, and start
again with it. On a terminal deliveries are printed for people, elsewhere as
JSON lines. Signatures are never printed.

Examples:
  parley listen                                    # see what is sent
  parley listen --secret @secret.txt
  parley listen --secret whsec_… --forward http://localhost:3000/webhooks
  parley listen --secret whsec_… --fail 30%        # see the sender try again
  parley listen --secret whsec_… --status 410      # see the endpoint disabled
  parley listen --secret whsec_… --delay 20s       # see the sender time out
  parley listen --json | jq .type

Documentation: https://github.com/parley-api/parley/tree/main/docs/guide/receiving.md
`,
	"sign": `
What is signed is <webhook-id>.<webhook-timestamp>.<body>, the body as it is,
its last line feed included. Keep secrets out of the history of your shell with
@FILE.

Examples:
  parley sign --secret @secret.txt --id msg_1 --timestamp 1700000000 body.json
  printf '{}' | parley sign --secret whsec_… --id msg_1 --timestamp $(date +%s)

Documentation: https://github.com/parley-api/parley/tree/main/docs/guide/receiving.md
`,
	"verify": `
Give the three header fields and the raw body as they arrived. The exit code is
0 for verified, 1 where a step fails and 2 for wrong usage. The timestamp must
be within 300 seconds of --at.

Examples:
  parley verify --secret @secret.txt --id msg_1 --timestamp 1700000000 \
      --signature 'v1,…' --at 1700000010 body.json

Documentation: https://github.com/parley-api/parley/tree/main/docs/guide/receiving.md
`,
	"versions": `
Without a command the versions are listed, and the flags of list may be given.

Examples:
  parley versions                                        # as of today
  parley versions --at 2027-06-01                        # what each answers on that day
  parley versions retire 2025-11-01 --dry-run            # who would break
  parley versions list --help                            # every flag, and the calendar file
`,
	"versions list": `
A version is upcoming, then active, then deprecated (it works, and every answer
says when it ends), then retired (410 Gone). A date takes effect at 00:00 UTC.
Its dates are built in; a calendar file moves them:

  # calendar.yaml
  versions:
    - name: 2025-11-01
      deprecated: 2026-11-01
      sunset: 2028-05-01

Examples:
  parley versions                                        # as of today
  parley versions --at 2027-06-01                        # what each answers on that day
  parley versions --at 2028-05-01 --version-calendar calendar.yaml
  parley versions --json | jq -r '.[] | select(.status == "deprecated") | .name'
`,
	"versions retire": `
Nothing is changed by this command. With --dry-run it asks a running service
which accounts are pinned to the version or used it lately, with what they did.
Without, it prints the lines to put into the calendar file, with dates that
keep the calendar's promise; dates that would break it are refused.

Examples:
  parley versions retire 2025-11-01 --dry-run --key "$PARLEY_ADMIN_KEY"
  parley versions retire 2025-11-01 --dry-run --days 30 --exit-code   # for a pipeline: 1 if somebody would break
  parley versions retire 2025-11-01 --sunset 2028-05-01 > calendar.yaml
`,
}

// groups is the order of the flags in the help.
var groups = []string{"Serving", "Storage", "Limits", "Webhooks", "Versions", "Who would break", "Announcing", "Operations", "Output"}

// help returns the options that shape the help.
func help() []kong.Option {
	return []kong.Option{
		kong.Description(about),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.ValueFormatter(describe),
		kong.Help(func(o kong.HelpOptions, ctx *kong.Context) error {
			if err := kong.DefaultHelpPrinter(o, ctx); err != nil {
				return err
			}
			name, _, _ := strings.Cut(ctx.Command(), " <") // without its arguments
			name, _, _ = strings.Cut(name, " [")
			_, err := io.WriteString(ctx.Stdout, endings[name])
			return err
		}),
	}
}

// arrange puts the flags in the order of their groups. It also keeps the
// parser from reading the environment: settle does that, so that an empty
// variable counts as unset and the file does not beat it.
func arrange(k *kong.Kong) {
	k.Model.HelpFlag.Hidden = true
	for _, node := range k.Model.Children {
		for _, flag := range node.Flags {
			flag.Tag.Envs = nil // flag.Envs keeps them
		}
		slices.SortStableFunc(node.Flags, func(a, b *kong.Flag) int { return rank(a) - rank(b) })
	}
}

func rank(f *kong.Flag) int {
	if f.Group == nil {
		return len(groups)
	}
	return slices.Index(groups, f.Group.Key)
}

// describe is the help of a flag, with its variable and its default.
func describe(v *kong.Value) string {
	var notes []string
	if v.Flag != nil {
		notes = append(notes, v.Flag.Envs...)
	}
	if v.HasDefault {
		notes = append(notes, "default "+v.Default)
	}
	if len(notes) == 0 {
		return v.Help
	}
	return v.Help + " (" + strings.Join(notes, ", ") + ")"
}

// pointer is the text of a wrong command line and where to read more.
func pointer(wrong *kong.ParseError) string {
	name := "parley"
	if node := wrong.Context.Selected(); node != nil {
		name = node.FullPath()
	}
	text := wrong.Error()
	if !strings.HasSuffix(text, "?") {
		text += "."
	}
	return text + " See " + name + " --help."
}
