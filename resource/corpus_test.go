package resource

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// corpus is small JSON texts, right (y_) and wrong (n_) ones, by what they are
// about. What begins with n_strict_ is let pass by encoding/json and refused
// here: RFC 8259 leaves it to implementations, and the contract decides.
var corpus = []struct{ name, doc string }{
	{"y_null", `null`},
	{"y_true", `true`},
	{"y_false", `false`},
	{"y_object_empty", `{}`},
	{"y_object_empty_spaced", "{ \t\r\n}"},
	{"y_object_one", `{"a":1}`},
	{"y_object_two", `{"a":1,"b":2}`},
	{"y_object_nested", `{"a":{"b":{"c":{}}}}`},
	{"y_object_empty_name", `{"":0}`},
	{"y_object_space_name", `{" ":0}`},
	{"y_object_same_values", `{"a":1,"b":1}`},
	{"y_object_names_by_case", `{"a":1,"A":2}`},
	{"y_object_same_name_elsewhere", `{"a":{"a":1}}`},
	{"y_object_same_name_in_siblings", `[{"a":1},{"a":2}]`},
	{"y_object_escaped_name", `{"\u0061":1}`},
	{"y_object_quoted_name", `{"\"":1}`},
	{"y_object_nul_name", `{"\u0000":1}`},
	{"y_object_names_by_normal_form", "{\"\u00e9\":1,\"e\u0301\":2}"},
	{"y_array_empty", `[]`},
	{"y_array_empty_spaced", "[ \t\r\n]"},
	{"y_array_mixed", `[null,true,false,0,"",[],{}]`},
	{"y_array_nested", `[[[[]]]]`},
	{"y_array_null", `[null]`},
	{"y_array_spaced", "[ 1 , 2 ]"},
	{"y_array_trailing_line", "[1]\n"},
	{"y_number_zero", `0`},
	{"y_number_minus_zero", `-0`},
	{"y_number_one", `1`},
	{"y_number_minus", `-1`},
	{"y_number_fraction", `1.5`},
	{"y_number_fraction_zero", `0.0`},
	{"y_number_fraction_long", `0.00000000000000000000000000000000000000000000000000001`},
	{"y_number_exponent", `1e1`},
	{"y_number_exponent_capital", `1E1`},
	{"y_number_exponent_plus", `1e+1`},
	{"y_number_exponent_minus", `1e-1`},
	{"y_number_exponent_zeros", `1e00`},
	{"y_number_all", `-12.34e-05`},
	{"y_number_beyond_double", `1e400`},
	{"y_number_below_double", `1e-400`},
	{"y_number_exponent_absurd", `1e99999999999999999999`},
	{"y_number_beyond_int64", `9223372036854775808`},
	{"y_number_hundred_digits", strings.Repeat("1234567890", 10)},
	{"y_number_zero_exponent", `0e1`},
	{"y_number_in_list", `[-0,1e5,2.5]`},
	{"y_string_empty", `""`},
	{"y_string_ascii", `"abc"`},
	{"y_string_space", `" "`},
	{"y_string_short_escapes", `"\"\\\/\b\f\n\r\t"`},
	{"y_string_unicode_escape", `"\u00e9"`},
	{"y_string_unicode_escape_capitals", `"\u00E9\uABCD"`},
	{"y_string_nul_escape", `"\u0000"`},
	{"y_string_surrogate_pair", `"\ud83d\ude00"`},
	{"y_string_surrogate_pair_capitals", `"\uD83D\uDE00"`},
	{"y_string_two_pairs", `"\ud83d\ude00\ud83d\ude01"`},
	{"y_string_last_pair", `"\udbff\udfff"`},
	{"y_string_noncharacter_escape", `"\uffff"`},
	{"y_string_noncharacter", "\"\uffff\""},
	{"y_string_two_bytes", "\"é\""},
	{"y_string_three_bytes", "\"€\""},
	{"y_string_four_bytes", "\"😀\""},
	{"y_string_last_code_point", "\"\U0010ffff\""},
	{"y_string_line_separator", "\"\u2028\u2029\""},
	{"y_string_delete", "\"\x7f\""},
	{"y_string_c1_control", "\"\u0085\""},
	{"y_string_mark_inside", "\"\ufeff\""},
	{"y_string_solidus", `"/"`},
	{"y_string_backslash_then_u", `"\\u0041"`},
	{"y_string_brackets", `"[{]}"`},
	{"y_string_comment", `"/* // #"`},
	{"y_space_before", " \n\t\r1"},
	{"y_space_after", "1 \n\t\r"},
	{"y_space_everywhere", " { \"a\" : [ 1 , { } ] } "},
	{"y_depth_many_siblings", "[" + strings.Repeat("[],", 200) + "[]]"},

	{"n_empty", ``},
	{"n_space", ` `},
	{"n_line", "\n"},
	{"n_word", `nothing`},
	{"n_word_cut", `nul`},
	{"n_word_capital", `True`},
	{"n_word_capitals", `NULL`},
	{"n_word_undefined", `undefined`},
	{"n_word_nan", `NaN`},
	{"n_word_infinity", `Infinity`},
	{"n_word_minus_infinity", `-Infinity`},
	{"n_word_joined", `truefalse`},
	{"n_word_tail", `nullx`},
	{"n_object_open", `{`},
	{"n_object_close", `}`},
	{"n_object_name_only", `{"a"}`},
	{"n_object_no_value", `{"a":}`},
	{"n_object_no_colon", `{"a" 1}`},
	{"n_object_comma_for_colon", `{"a",1}`},
	{"n_object_two_colons", `{"a"::1}`},
	{"n_object_no_comma", `{"a":1 "b":2}`},
	{"n_object_comma_last", `{"a":1,}`},
	{"n_object_comma_first", `{,"a":1}`},
	{"n_object_two_commas", `{"a":1,,"b":2}`},
	{"n_object_comma_alone", `{,}`},
	{"n_object_bare_name", `{a:1}`},
	{"n_object_number_name", `{1:1}`},
	{"n_object_null_name", `{null:1}`},
	{"n_object_single_quotes", `{'a':1}`},
	{"n_object_cut_in_name", `{"a`},
	{"n_object_cut_after_name", `{"a"`},
	{"n_object_cut_after_colon", `{"a":`},
	{"n_object_cut_after_value", `{"a":1`},
	{"n_object_cut_after_comma", `{"a":1,`},
	{"n_object_closed_as_list", `{"a":1]`},
	{"n_object_twice", `{}{}`},
	{"n_object_and_more", `{}}`},
	{"n_object_missing_name", `{:1}`},
	{"n_object_semicolon", `{"a":1;"b":2}`},
	{"n_array_open", `[`},
	{"n_array_close", `]`},
	{"n_array_comma_last", `[1,]`},
	{"n_array_comma_first", `[,1]`},
	{"n_array_two_commas", `[1,,2]`},
	{"n_array_comma_alone", `[,]`},
	{"n_array_no_comma", `[1 2]`},
	{"n_array_colon", `[1:2]`},
	{"n_array_cut", `[1`},
	{"n_array_cut_after_comma", `[1,`},
	{"n_array_closed_as_object", `[1}`},
	{"n_array_and_more", `[1]]`},
	{"n_array_and_word", `[1]x`},
	{"n_array_spread", `[...]`},
	{"n_number_plus", `+1`},
	{"n_number_minus_alone", `-`},
	{"n_number_minus_twice", `--1`},
	{"n_number_minus_space", `- 1`},
	{"n_number_leading_zero", `01`},
	{"n_number_minus_leading_zero", `-01`},
	{"n_number_two_zeros", `00`},
	{"n_number_point_first", `.5`},
	{"n_number_point_last", `1.`},
	{"n_number_point_alone", `.`},
	{"n_number_two_points", `1.2.3`},
	{"n_number_point_exponent", `1.e1`},
	{"n_number_exponent_alone", `1e`},
	{"n_number_exponent_sign_alone", `1e+`},
	{"n_number_exponent_twice", `1e1e1`},
	{"n_number_exponent_fraction", `1e1.5`},
	{"n_number_exponent_first", `e1`},
	{"n_number_hexadecimal", `0x1`},
	{"n_number_octal", `0o7`},
	{"n_number_underscore", `1_000`},
	{"n_number_comma", `1,5`},
	{"n_number_letter", `1a`},
	{"n_number_space", `1 2`},
	{"n_number_full_width", "\uff11"},
	{"n_string_open", `"`},
	{"n_string_cut", `"abc`},
	{"n_string_cut_in_escape", `"\`},
	{"n_string_cut_in_unicode", `"\u12`},
	{"n_string_escaped_quote_last", `"abc\"`},
	{"n_string_single_quotes", `'abc'`},
	{"n_string_no_quotes", `abc`},
	{"n_string_escape_unknown", `"\a"`},
	{"n_string_escape_capital", `"\N"`},
	{"n_string_escape_x", `"\x41"`},
	{"n_string_escape_octal", `"\101"`},
	{"n_string_escape_line", "\"\\\n\""},
	{"n_string_unicode_three", `"\u123"`},
	{"n_string_unicode_letter", `"\u12g4"`},
	{"n_string_unicode_capital", `"\U0041"`},
	{"n_string_unicode_braces", `"\u{41}"`},
	{"n_string_control_nul", "\"\x00\""},
	{"n_string_control_line", "\"a\nb\""},
	{"n_string_control_tab", "\"\t\""},
	{"n_string_control_last", "\"\x1f\""},
	{"n_string_joined", `"a""b"`},
	{"n_string_added", `"a"+"b"`},
	{"n_string_tail", `"a"b`},
	{"n_space_no_break", "\u00a0" + `1`},
	{"n_space_form_feed", "\f1"},
	{"n_space_vertical_tab", "\v1"},
	{"n_space_mark", "\ufeff" + `{}`},
	{"n_space_mark_last", `{}` + "\ufeff"},
	{"n_space_nul_last", "1\x00"},
	{"n_comment_line", "1 // one"},
	{"n_comment_block", `/* one */ 1`},
	{"n_comment_hash", "# one\n1"},
	{"n_sixteen_bits", "\xfe\xff\x00{\x00}"},
	{"n_sixteen_bits_little", "{\x00}\x00"},
	{"n_xml", `<a/>`},
	{"n_form", `a=1&b=2`},

	{"n_strict_object_duplicate", `{"a":1,"a":2}`},
	{"n_strict_object_duplicate_equal", `{"a":1,"a":1}`},
	{"n_strict_object_duplicate_apart", `{"a":1,"b":2,"a":3}`},
	{"n_strict_object_duplicate_escaped", `{"a":1,"\u0061":2}`},
	{"n_strict_object_duplicate_empty", `{"":1,"":2}`},
	{"n_strict_object_duplicate_inside", `[{"x":{"a":1,"a":2}}]`},
	{"n_strict_object_duplicate_pair", `{"\ud83d\ude00":1,"😀":2}`},
	{"n_strict_surrogate_high", `"\ud800"`},
	{"n_strict_surrogate_low", `"\udc00"`},
	{"n_strict_surrogate_reversed", `"\udc00\ud800"`},
	{"n_strict_surrogate_high_twice", `"\ud800\ud800"`},
	{"n_strict_surrogate_then_letter", `"\ud800a"`},
	{"n_strict_surrogate_then_escape", `"\ud800\n"`},
	{"n_strict_surrogate_then_unicode", `"\ud800\u0041"`},
	{"n_strict_surrogate_after_pair", `"\ud83d\ude00\ude00"`},
	{"n_strict_surrogate_in_name", `{"\ud800":1}`},
	{"n_strict_utf8_lone", "\"\xff\""},
	{"n_strict_utf8_continuation", "\"\x80\""},
	{"n_strict_utf8_cut", "\"\xc3\""},
	{"n_strict_utf8_cut_three", "\"\xe2\x82\""},
	{"n_strict_utf8_cut_four", "\"\xf0\x9f\x98\""},
	{"n_strict_utf8_overlong", "\"\xc0\xaf\""},
	{"n_strict_utf8_overlong_nul", "\"\xc0\x80\""},
	{"n_strict_utf8_surrogate", "\"\xed\xa0\x80\""},
	{"n_strict_utf8_surrogate_pair", "\"\xed\xa0\xbd\xed\xb8\x80\""},
	{"n_strict_utf8_too_high", "\"\xf4\x90\x80\x80\""},
	{"n_strict_utf8_latin", "\"caf\xe9\""},
	{"n_strict_utf8_in_name", "{\"\xff\":1}"},
}

func TestCorpusIsSound(t *testing.T) {
	names := make(map[string]bool)
	right, wrong := 0, 0
	for _, c := range corpus {
		if names[c.name] {
			t.Errorf("%s is there twice", c.name)
		}
		names[c.name] = true
		want := strings.HasPrefix(c.name, "y_") || strings.HasPrefix(c.name, "n_strict_")
		if got := json.Valid([]byte(c.doc)); got != want {
			t.Errorf("%s: encoding/json says %v, want %v", c.name, got, want)
		}
		if c.name[0] == 'y' {
			right++
		} else {
			wrong++
		}
	}
	if right < 60 || wrong < 100 {
		t.Errorf("%d right and %d wrong texts are too few", right, wrong)
	}
}

// Every right text is parsed, wherever it stands in a body, and every wrong one
// is 400, even where nobody looks at the value.
func TestCorpus(t *testing.T) {
	for _, place := range []struct {
		why, before, after string
		list               bool
	}{
		{"the body itself", ``, ``, false},
		{"a member of any JSON", `{"title":"a","any":`, `}`, false},
		{"deep in a member of any JSON", `{"title":"a","any":[{"x":[`, `]}]}`, true},
		{"an unknown member", `{"title":"a","x":`, `}`, false},
		{"a read-only member", `{"title":"a","sum":`, `}`, false},
		{"text", `{"title":`, `}`, false},
		{"a number", `{"title":"a","count":`, `}`, false},
		{"a fraction", `{"title":"a","ratio":`, `}`, false},
		{"a truth value", `{"title":"a","flag":`, `}`, false},
		{"a time", `{"title":"a","when":`, `}`, false},
		{"a list", `{"title":"a","tags":`, `}`, false},
		{"an element", `{"title":"a","tags":[`, `]}`, true},
		{"an element after another", `{"title":"a","items":[{"name":"x"},`, `]}`, true},
		{"an object", `{"title":"a","home":`, `}`, false},
		{"a member of an object", `{"title":"a","work":{"geo":`, `}}`, false},
		{"a fixed member", `{"title":"a","fixed":`, `}`, false},
	} {
		for _, c := range corpus {
			body := place.before + c.doc + place.after
			for _, m := range []mode{modeCreate, modeReplace, modeMerge} {
				_, err := read(body, sample{}, m)
				got := summary(err)
				switch {
				case place.list && slices.Contains([]string{"n_empty", "n_space", "n_line", "n_number_comma"}, c.name):
					// no element, or two
				case c.name[0] == 'n' && got != "400":
					t.Errorf("%s as %s, mode %d: got %q, want 400", c.name, place.why, m, got)
				case c.name[0] == 'y' && got != "" && !strings.HasPrefix(got, "422 "):
					t.Errorf("%s as %s, mode %d: got %s, want it parsed", c.name, place.why, m, got)
				case c.name[0] == 'y' && strings.Contains(place.why, "any JSON") && got != "":
					t.Errorf("%s as %s, mode %d: got %s, want it accepted", c.name, place.why, m, got)
				}
			}
		}
	}
}

// The reader of JSON Patch agrees with the reader of resources.
func TestCorpusCheckJSON(t *testing.T) {
	for _, c := range corpus {
		if got, want := CheckJSON([]byte(c.doc)) == nil, c.name[0] == 'y'; got != want {
			t.Errorf("%s: checkJSON says %v, want %v", c.name, got, want)
		}
		if _, err := parsePatch([]byte(c.doc)); (summary(err) == "400") == (c.name[0] == 'y') {
			t.Errorf("%s as a patch: %q", c.name, summary(err))
		}
	}
}
