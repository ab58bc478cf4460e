package store

import "fmt"

// A dialect is what the two databases say differently about tables.
type dialect struct {
	name    string
	types   [3]string // by Kind
	suffix  string    // of CREATE TABLE for rows
	lock    string    // keeps other writers out until the end of the transaction
	columns string    // name and type of the columns of table $1
	indexes string    // names of the indexes made for table $1
	replace bool      // CREATE OR REPLACE VIEW
	fill    func(*Column) string
	field   func(Field) string
	time    func(column string) string

	elements string // the elements of the JSON array $1, as j.value
}

func sqliteDialect() *dialect {
	return &dialect{
		name:     "sqlite",
		types:    [3]string{"INTEGER", "TEXT", "BOOLEAN"},
		suffix:   " WITHOUT ROWID",
		lock:     "",
		elements: "json_each($1) AS j",
		columns:  "SELECT name, type FROM pragma_table_info($1) ORDER BY cid",
		indexes:  "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = $1 AND sql IS NOT NULL",
		fill: func(c *Column) string {
			member := "'$." + c.Name + "'"
			switch c.Kind {
			case Int:
				return "CASE json_type(doc, " + member + ") WHEN 'integer' THEN doc ->> " + member + " END"
			case Bool:
				return "CASE json_type(doc, " + member + ") WHEN 'true' THEN 1 WHEN 'false' THEN 0 END"
			}
			return "CASE json_type(doc, " + member + ") WHEN 'text' THEN doc ->> " + member + " END"
		},
		field: func(f Field) string {
			if f.Type == "object" || f.Type == "array" {
				return "doc -> '$." + f.Name + "'"
			}
			return "doc ->> '$." + f.Name + "'"
		},
		time: func(column string) string {
			return fmt.Sprintf("strftime('%%Y-%%m-%%dT%%H:%%M:%%S', %[1]s / 1000000, 'unixepoch') || printf('.%%06dZ', %[1]s %% 1000000)", column)
		},
	}
}

func postgresDialect() *dialect {
	return &dialect{
		name:     "postgres",
		types:    [3]string{"bigint", "text", "boolean"},
		lock:     "SELECT seq FROM clock FOR UPDATE",
		elements: "json_array_elements($1::text::json) AS j (value)",
		columns:  "SELECT column_name::text, data_type::text FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position",
		indexes:  "SELECT indexname::text FROM pg_indexes WHERE schemaname = current_schema() AND tablename = $1 AND indexname NOT LIKE '%\\_pkey'",
		replace:  true,
		fill: func(c *Column) string {
			member := "'" + c.Name + "'"
			json := [3]string{"number", "string", "boolean"}[c.Kind]
			cast := [3]string{"::bigint", "", "::boolean"}[c.Kind]
			return "CASE json_typeof(doc::json -> " + member + ") WHEN '" + json + "' THEN (doc::json ->> " + member + ")" + cast + " END"
		},
		field: func(f Field) string {
			switch f.Type {
			case "object", "array":
				return "doc::json -> '" + f.Name + "'"
			case "integer":
				return "(doc::json ->> '" + f.Name + "')::bigint"
			case "number":
				return "(doc::json ->> '" + f.Name + "')::numeric"
			case "boolean":
				return "(doc::json ->> '" + f.Name + "')::boolean"
			}
			return "doc::json ->> '" + f.Name + "'"
		},
		time: func(column string) string {
			return `to_char((timestamptz 'epoch' + ` + column + ` * interval '1 microsecond') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
		},
	}
}
