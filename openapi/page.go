package openapi

// pages puts the envelopes of a list of the schema called name on the shelf
// and returns the names of the schemas of a page and of a range.
func (b *builder) pages(name, collection string) (page, span string, err error) {
	items := obj("type", "array", "items", ref(schemas, name))
	envelope := func(about, array string, rest object, required ...string) object {
		properties := append(obj(array, items), rest...)
		return obj("type", "object", "description", about, "properties", properties, "required", texts(append([]string{array}, required...)))
	}
	total := obj("type", "integer", "format", "int64", "description", "The number of rows on all pages. Only with include_total=true.", "minimum", 0)
	for _, s := range []struct {
		name   string
		schema object
	}{
		{name + "CursorPage", envelope("A page in cursor style.", "data",
			obj("pagination", ref(schemas, "CursorPagination"), "_links", ref(schemas, "CursorLinks")), "pagination", "_links")},
		{name + "OffsetPage", envelope("A page in offset style.", "data",
			obj("pagination", ref(schemas, "OffsetPagination"), "_links", ref(schemas, "OffsetLinks")), "pagination", "_links")},
		{name + "TokenPage", envelope("A page in page-token style.", collection, obj(
			"next_page_token", obj("type", "string", "description", "Opaque; the page_token of the next page. Absent at the end of the list."),
			"total", total))},
		{name + "Page", obj("description", "A page, in the style that the parameters choose.", "anyOf", list{
			ref(schemas, name+"CursorPage"), ref(schemas, name+"OffsetPage"), ref(schemas, name+"TokenPage")})},
		{name + "Range", envelope("The rows that the Range header names.", "data", nil)},
	} {
		if err := b.shelf.add(schemas, s.name, s.schema); err != nil {
			return "", "", err
		}
	}
	return name + "Page", name + "Range", nil
}

// pageParts are the schemas that the pages of all lists share.
func pageParts(maximum int) object {
	count := func(about string) object {
		return obj("type", "integer", "format", "int64", "description", about, "minimum", 0)
	}
	size := obj("type", "integer", "description", "The largest number of rows on a page.", "minimum", 1, "maximum", maximum)
	link := func(about string) object {
		return obj("type", "string", "format", "uri-reference", "description", about)
	}
	cursor := func(about string) object {
		return obj("type", list{"string", "null"}, "description", about)
	}
	return obj(
		"CursorPagination", obj("type", "object", "description", "Where a page in cursor style stands.", "properties", obj(
			"limit", size,
			"next_cursor", cursor("Opaque; the cursor of the next page. Null on the last."),
			"prev_cursor", cursor("Opaque; the cursor of the page before. Null on the first."),
			"has_more", obj("type", "boolean", "description", "Whether a next page exists."),
			"total", count("The number of rows on all pages. Only with include_total=true."),
		), "required", list{"limit", "next_cursor", "prev_cursor", "has_more"}),
		"CursorLinks", obj("type", "object", "description", "Links of a page in cursor style.", "properties", obj(
			"self", link("This page."),
			"next", link("The next page. Absent on the last."),
		), "required", list{"self"}),
		"OffsetPagination", obj("type", "object", "description", "Where a page in offset style stands.", "properties", obj(
			"page", obj("type", "integer", "format", "int64", "description", "The number of the page, from 1.", "minimum", 1),
			"size", size,
			"total", count("The number of rows on all pages. Only with include_total=true."),
			"total_pages", count("The number of pages. Only with include_total=true."),
		), "required", list{"page", "size"}),
		"OffsetLinks", obj("type", "object", "description", "Links of a page in offset style.", "properties", obj(
			"self", link("This page."),
			"first", link("The first page."),
			"prev", link("The page before. Absent on the first."),
			"next", link("The next page. Absent on the last."),
			"last", link("The last page. Only with include_total=true."),
		), "required", list{"self", "first"}),
	)
}

// linkParts are the schemas of an item's links.
func linkParts() object {
	href := obj("type", "string", "format", "uri-reference", "description", "A path, on the mount that the request used.")
	return obj(
		"ItemLink", obj("type", "object", "description", "A link to follow with GET.",
			"properties", obj("href", href), "required", list{"href"}),
		"ActionLink", obj("type", "object", "description", "Something that can be done with the resource in its present state.",
			"properties", obj("href", href, "method", obj("type", "string", "enum", list{"POST"}, "description", "The method to use.")),
			"required", list{"href", "method"}),
	)
}

// patchParts is the schema of a JSON Patch, RFC 6902.
func patchParts() object {
	pointer := func(about string) object {
		return obj("type", "string", "format", "json-pointer", "description", about, "pattern", "^(/|$)")
	}
	operation := func(about string, ops list, properties object, required ...string) object {
		all := append(obj("op", obj("type", "string", "enum", ops), "path", pointer("The place to change or test.")), properties...)
		return obj("type", "object", "description", about, "properties", all, "required", texts(append([]string{"op", "path"}, required...)))
	}
	return obj("JsonPatch", obj(
		"type", "array",
		"description", "A JSON Patch (RFC 6902) on the resource as it is shown.",
		"maxItems", 100,
		"items", obj("oneOf", list{
			operation("Puts a value somewhere, or tests one.", list{"add", "replace", "test"},
				obj("value", obj("description", "Any JSON value.")), "value"),
			operation("Takes a value from elsewhere.", list{"move", "copy"},
				obj("from", pointer("The place of the value.")), "from"),
			operation("Removes a value.", list{"remove"}, nil),
		}),
		"examples", list{list{obj("op", "test", "path", "/id", "value", 1)}},
	))
}
