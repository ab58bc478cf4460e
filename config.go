package parley

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/parley-api/parley/blob/bucket"
	"github.com/parley-api/parley/paginate"
	"github.com/parley-api/parley/ratelimit"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/version"
)

// Config is every knob of a service. The zero value serves from ./parley-data
// with all defaults. The tags name the command-line flags and the variables of
// the environment; the program reads them, this package does not.
type Config struct {
	Addr             string        `default:"127.0.0.1:8080" env:"PARLEY_ADDR" placeholder:"HOST:PORT" group:"Serving" help:"Address to listen on."`
	Data             string        `default:"./parley-data" env:"PARLEY_DATA" placeholder:"DIR" group:"Storage" help:"Folder for the SQLite file, stored bytes and generated secrets. Made if missing, mode 0700."`
	Database         string        `env:"PARLEY_DATABASE" placeholder:"URL" group:"Storage" help:"postgres://… for several nodes. Default: the SQLite file in the data folder."`
	BaseURL          string        `name:"base-url" env:"PARLEY_BASE_URL" placeholder:"URL" group:"Serving" help:"Where clients reach the service; absolute links begin with it. Default: derived from --addr."`
	AdminKey         string        `env:"PARLEY_ADMIN_KEY" placeholder:"KEY" group:"Operations" help:"The admin API key. Default: generated at the first start, printed once, only its hash kept."`
	InsecureWebhooks bool          `env:"PARLEY_INSECURE_WEBHOOKS" group:"Webhooks" help:"Allow http:// and loopback or private webhook targets. For development only."`
	RetrySchedule    string        `default:"0s,5m,30m,2h,24h" env:"PARLEY_RETRY_SCHEDULE" placeholder:"DELAYS" group:"Webhooks" help:"Delays before the attempts of a webhook delivery."`
	DeliveryTimeout  time.Duration `default:"15s" env:"PARLEY_DELIVERY_TIMEOUT" placeholder:"DURATION" group:"Webhooks" help:"How long a webhook consumer may take to answer."`
	RateLimit        string        `default:"6000/1m" env:"PARLEY_RATE_LIMIT" placeholder:"N/WINDOW" group:"Limits" help:"Requests per credential and window, with a burst of a sixth; or off."`
	MaxPageSize      int           `default:"100" env:"PARLEY_MAX_PAGE_SIZE" placeholder:"N" group:"Limits" help:"The largest page a client may ask for."`
	DefaultPageSize  int           `default:"20" env:"PARLEY_DEFAULT_PAGE_SIZE" placeholder:"N" group:"Limits" help:"The size of a page when the client names none."`
	Profile          string        `default:"spec" enum:"spec,rfc" env:"PARLEY_PROFILE" placeholder:"spec|rfc" group:"Serving" help:"spec: the contract to the letter. rfc: the three places where it departs from an RFC follow the RFC."`
	Blobs            string        `env:"PARLEY_BLOBS" placeholder:"URL" group:"Storage" help:"s3://HOST/BUCKET[/PREFIX] to keep bytes in an S3-compatible bucket, for several nodes; ?region=NAME, &tls=on|off and &style=path|host where the defaults are wrong. Default: the data folder."`
	BlobsKey         string        `env:"PARLEY_BLOBS_KEY" placeholder:"KEY" group:"Storage" help:"Access key of the bucket, if --blobs does not have it as s3://KEY:SECRET@HOST/BUCKET."`
	BlobsSecret      string        `env:"PARLEY_BLOBS_SECRET" placeholder:"SECRET" group:"Storage" help:"Secret of --blobs-key. Better in the environment than on the command line."`
	MaxAccountBytes  int64         `env:"PARLEY_MAX_ACCOUNT_BYTES" placeholder:"N" group:"Limits" help:"The most bytes that the files and images of one account may have together; equal ones count each time. Default: no limit."`
	TLSCert          string        `name:"tls-cert" env:"PARLEY_TLS_CERT" placeholder:"FILE" group:"Serving" help:"Certificate chain in PEM; with --tls-key the service speaks TLS 1.2 and later."`
	TLSKey           string        `name:"tls-key" env:"PARLEY_TLS_KEY" placeholder:"FILE" group:"Serving" help:"Private key of --tls-cert in PEM."`
	MetricsAddr      string        `env:"PARLEY_METRICS_ADDR" placeholder:"HOST:PORT" group:"Operations" help:"A second listener for /metrics, without credentials."`
	VersionCalendar  string        `env:"PARLEY_VERSION_CALENDAR" placeholder:"FILE" group:"Versions" help:"YAML file that moves the deprecated and sunset dates of versions."`
	TrustedProxies   []string      `env:"PARLEY_TRUSTED_PROXIES" placeholder:"CIDR" group:"Serving" help:"Proxies whose Forwarded and X-Forwarded-For are believed."`
	CORSOrigins      []string      `name:"cors-origins" env:"PARLEY_CORS_ORIGINS" placeholder:"ORIGIN" group:"Serving" help:"Web origins that may call the service from a browser; * for any."`

	// LargeFile serves GET /largefile, a gibibyte to try ranges with, to keys
	// with the scope files:read.
	LargeFile bool `kong:"-"`

	// Identify says who asks. Nil means the API keys of the service itself.
	// Its error should be a problem, usually Unauthorized.
	Identify func(*http.Request) (Identity, error) `kong:"-"`

	// Rows keeps the rows of the definitions given to New somewhere else than
	// in the database, and with them the promise that a row and its event are
	// one transaction. Nil means the database.
	Rows resource.Store `kong:"-"`

	Calendar *version.Calendar `kong:"-"` // nil: the built-in one
	Now      func() time.Time  `kong:"-"` // nil: time.Now
	Log      *slog.Logger      `kong:"-"` // nil: slog.Default
}

// An Identity is who makes a request.
type Identity struct {
	Account    int64    // whose rows; at least 1
	Credential string   // names the credential in quotas and logs; never a secret
	Scopes     []string // tasks:read, tasks:write …; admin means all
	Version    string   // the name of the version the account is pinned to; "" none
}

// settings is a Config with the texts understood and the defaults filled in.
type settings struct {
	Config
	dsn      string
	limits   paginate.Limits
	policy   ratelimit.Policy
	bucket   *bucket.Address // nil: bytes are in the data folder
	proxies  []netip.Prefix
	schedule []time.Duration
	calendar *version.Calendar
}

// A SettingError says which setting is wrong and what would be right.
type SettingError struct{ text string }

func (e *SettingError) Error() string { return e.text }

func wrong(format string, args ...any) error { return &SettingError{fmt.Sprintf(format, args...)} }

// settle checks a configuration. The error is a SettingError.
func (c Config) settle() (*settings, error) {
	s := &settings{Config: c}
	orText(&s.Addr, "127.0.0.1:8080")
	orText(&s.Data, "./parley-data")
	orText(&s.RateLimit, "6000/1m")
	orText(&s.Profile, "spec")
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.Log == nil {
		s.Log = slog.Default()
	}
	if s.Profile != "spec" && s.Profile != "rfc" {
		return nil, wrong("--profile must be spec or rfc")
	}
	if (s.TLSCert == "") != (s.TLSKey == "") {
		return nil, wrong("--tls-cert and --tls-key go together")
	}
	var err error
	if s.policy, err = ratelimit.Parse(s.RateLimit); err != nil {
		return nil, wrong("--rate-limit: %v", strings.TrimPrefix(err.Error(), "ratelimit: "))
	}
	if s.limits, err = limitsOf(c.DefaultPageSize, c.MaxPageSize); err != nil {
		return nil, err
	}
	if s.MaxAccountBytes < 0 {
		return nil, wrong("--max-account-bytes must be a number of bytes, or 0 for no limit")
	}
	if err := s.settleBlobs(); err != nil {
		return nil, err
	}
	if s.schedule, err = parseSchedule(s.RetrySchedule); err != nil {
		return nil, err
	}
	if s.DeliveryTimeout < 0 || s.DeliveryTimeout > 10*time.Minute {
		return nil, wrong("--delivery-timeout must be between 1ms and 10m")
	}
	for _, text := range s.TrustedProxies {
		prefix, err := parsePrefix(text)
		if err != nil {
			return nil, wrong("--trusted-proxies: %q is neither an address nor a range such as 10.0.0.0/8", text)
		}
		s.proxies = append(s.proxies, prefix)
	}
	if err := s.settleURL(); err != nil {
		return nil, err
	}
	s.calendar = s.Calendar
	if s.calendar == nil {
		s.calendar = version.BuiltIn()
	}
	if s.VersionCalendar != "" {
		if s.calendar, err = moveDates(s.calendar, s.VersionCalendar); err != nil {
			return nil, wrong("--version-calendar: %v", err)
		}
	}
	s.calendar = s.calendar.Configure(&version.Options{BaseURL: s.BaseURL, RFC: s.Profile == "rfc"})
	return s, s.settleDatabase()
}

// parseSchedule reads the delays before attempts.
func parseSchedule(text string) (delays []time.Duration, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		d, err := time.ParseDuration(strings.TrimSpace(part))
		if err != nil || d < 0 {
			return nil, wrong("--retry-schedule must be a list of delays such as 0s,5m,30m,2h,24h")
		}
		delays = append(delays, d)
	}
	return delays, nil
}

func orText(s *string, value string) {
	if *s == "" {
		*s = value
	}
}

func limitsOf(size, maximum int) (paginate.Limits, error) {
	if size < 0 || maximum < 0 || maximum > 10000 {
		return paginate.Limits{}, wrong("--max-page-size must be 1 to 10000, and --default-page-size at least 1")
	}
	if maximum > 0 && size > maximum {
		return paginate.Limits{}, wrong("--default-page-size must not be larger than --max-page-size")
	}
	return paginate.Limits{Default: size, Maximum: maximum}, nil
}

func parsePrefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	return netip.ParsePrefix(text)
}

// settleURL derives the base URL from the address where none is given.
func (s *settings) settleURL() error {
	if s.BaseURL == "" {
		scheme := "http://"
		if s.TLSCert != "" {
			scheme = "https://"
		}
		host := s.Addr
		if strings.HasPrefix(host, ":") {
			host = "localhost" + host
		}
		s.BaseURL = scheme + host
	}
	u, err := url.Parse(s.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return wrong("--base-url must look like https://api.example.com")
	}
	s.BaseURL = strings.TrimRight(s.BaseURL, "/")
	return nil
}

// settleBlobs finds the bucket. No text of it is repeated: it may hold a secret.
func (s *settings) settleBlobs() error {
	if s.Blobs == "" {
		return nil
	}
	a, err := bucket.Parse(s.Blobs)
	if err != nil {
		return wrong("--blobs: %v", err)
	}
	if a.Key == "" {
		a.Key, a.Secret = s.BlobsKey, s.BlobsSecret
	}
	if a.Key == "" || a.Secret == "" {
		return wrong("--blobs needs credentials: --blobs-key and --blobs-secret, or s3://KEY:SECRET@HOST/BUCKET")
	}
	s.bucket = a
	return nil
}

// settleDatabase finds the database.
func (s *settings) settleDatabase() error {
	s.dsn = s.Database
	if strings.HasPrefix(s.dsn, "postgres://") || strings.HasPrefix(s.dsn, "postgresql://") {
		return nil
	}
	if strings.Contains(s.dsn, "://") {
		return wrong("--database must be postgres://… or the path of an SQLite file")
	}
	if s.dsn == "" {
		s.dsn = filepath.Join(s.Data, "parley.db")
	}
	return nil
}
