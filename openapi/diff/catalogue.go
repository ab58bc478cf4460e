package diff

// surfaceRules are the rules about endpoints, parameters, bodies, statuses and
// header fields.
func surfaceRules() []Rule {
	return []Rule{
		{"endpoint-removed", Breaking, rowRemovePath, "An endpoint is gone.", "Stop calling it; there is nothing in its place."},
		{"endpoint-moved", Breaking, rowRemovePath, "An endpoint has another path.", "Call the new path."},
		{"endpoint-added", NonBreaking, rowAddPath, "An endpoint is new.", ""},
		{"method-changed", Breaking, rowSemantics, "An operation is called with another method.", "Use the new method, and mind what it means to repeat a request."},
		{"operation-id-changed", Typed, rowWorks, "An operation has another id: generated clients name their function after it.", "Generate the client anew and call the function by its new name."},
		{"base-path-removed", Breaking, rowRemovePath, "The service no longer answers under a base path.", "Use one of the base paths of the new description."},
		{"base-path-added", NonBreaking, rowAddPath, "The service also answers under another base path.", ""},
		{"deprecated", NonBreaking, rowWorks, "Something is deprecated: it still works.", ""},
		{"undeprecated", NonBreaking, rowWorks, "Something is no longer deprecated.", ""},
		{"security-tightened", Breaking, rowTighten, "Credentials that sufficed no longer do.", "Send the credentials that the new description asks for."},
		{"security-relaxed", NonBreaking, rowRelax, "Fewer or other credentials suffice as well.", ""},

		{"parameter-removed", Breaking, rowTighten, "A parameter is gone: it is refused or has no effect.", "Stop sending it."},
		{"parameter-added", NonBreaking, rowAddRequest, "An optional parameter is new.", ""},
		{"parameter-added-required", Breaking, rowRequire, "A required parameter is new.", "Send it with every request."},
		{"parameter-became-required", Breaking, rowRequire, "A parameter that was optional is required.", "Send it with every request."},
		{"parameter-became-optional", NonBreaking, rowRelax, "A parameter that was required is optional.", ""},
		{"parameter-encoding-changed", Breaking, rowChangeType, "A parameter is written in another form.", "Write the parameter in the new form."},

		{"request-body-removed", Breaking, rowTighten, "A request takes no body any more.", "Send no body."},
		{"request-body-added", NonBreaking, rowAddRequest, "A request may have a body.", ""},
		{"request-body-added-required", Breaking, rowRequire, "A request needs a body.", "Send a body."},
		{"request-body-became-required", Breaking, rowRequire, "The body of a request was optional and is required.", "Send a body."},
		{"request-body-became-optional", NonBreaking, rowRelax, "The body of a request was required and is optional.", ""},
		{"request-media-type-removed", Breaking, rowTighten, "A request is not accepted in a media type any more.", "Send the body in a media type that is still accepted."},
		{"request-media-type-added", NonBreaking, rowRelax, "A request is accepted in another media type, too.", ""},

		{"response-status-removed", Breaking, rowSemantics, "A status that meant success is not sent any more.", "Accept the statuses of the new description as success."},
		{"response-status-added", Typed, rowSemantics, "Success may have another status, too.", "Accept every 2xx status as success, or name the new one."},
		{"response-media-type-removed", Breaking, rowChangeType, "A response is not available in a media type any more.", "Ask for, and read, a media type that is still there."},
		{"response-media-type-added", NonBreaking, rowWorks, "A response is available in another media type, too.", ""},
		{"response-header-removed", Breaking, rowRemoveField, "A header field of a response is gone.", "Do without the header field."},
		{"response-header-added", NonBreaking, rowAddField, "A header field of a response is new.", ""},
		{"response-header-became-optional", Breaking, rowRemoveField, "A header field that was always sent may be absent.", "Expect that the header field is absent."},
		{"response-header-became-required", NonBreaking, rowAddField, "A header field is always sent.", ""},
		{"lifecycle-header-changed", NonBreaking, rowWorks, "Deprecation or Sunset, which announce the end of a version, came or went.", ""},

		{"error-status-removed", Breaking, rowErrors, "An error status is not sent any more.", "Expect another status where this one was sent."},
		{"error-status-added", Typed, rowErrors, "An error status is new. A client treats one it does not know as the x00 of its class (RFC 9110, 15).", "Handle the new status, or every status of its class."},
		{"error-media-type-removed", Breaking, rowErrors, "Errors have another media type.", "Read errors in the new media type."},
		{"error-media-type-added", NonBreaking, rowWorks, "Errors are available in another media type, too.", ""},
		{"error-header-removed", Breaking, rowErrors, "A header field of an error is gone.", "Do without the header field."},
		{"error-header-added", NonBreaking, rowAddField, "A header field of an error is new.", ""},
		{"error-header-became-optional", Breaking, rowErrors, "A header field of an error may be absent.", "Expect that the header field is absent."},
		{"error-header-became-required", NonBreaking, rowAddField, "A header field of an error is always sent.", ""},

		{"webhook-removed", Breaking, rowRemovePath, "An event is not delivered any more.", "Find out another way, such as by polling."},
		{"webhook-added", NonBreaking, rowAddPath, "An event is new.", ""},
	}
}

// A zone is where in an exchange a schema is used.
type zone string

const (
	request  zone = "request"  // sent by clients
	response zone = "response" // received by clients, webhooks included
	failure  zone = "error"    // received by clients when something failed
)

// sent reports whether clients write what is in the zone.
func (z zone) sent() bool { return z == request }

// zoneRules are the rules about schemas. Those of errors have the classes of
// responses; what breaks there is the contract's row about errors.
func zoneRules() []Rule {
	received := receivedRules()
	rules := append(requestRules(), received...)
	for _, r := range received {
		r.ID = string(failure) + r.ID[len(response):]
		r.Message = "In an error: " + string(r.Message[0]+'a'-'A') + r.Message[1:]
		if r.Class == Breaking {
			r.Row = rowErrors
		}
		rules = append(rules, r)
	}
	return rules
}

func requestRules() []Rule {
	return []Rule{
		{"request-field-removed", Breaking, rowTighten, "A field of a request is gone: it is refused or has no effect.", "Stop sending the field."},
		{"request-field-renamed", Breaking, rowRemoveField, "A field of a request is gone, and one of the same shape is new.", "Send the field by its new name."},
		{"request-field-added", NonBreaking, rowAddRequest, "An optional field of a request is new.", ""},
		{"request-field-added-required", Breaking, rowRequire, "A required field of a request is new.", "Send the field."},
		{"request-field-became-required", Breaking, rowRequire, "A field of a request was optional and is required.", "Send the field always."},
		{"request-field-became-optional", NonBreaking, rowRelax, "A field of a request was required and is optional.", ""},
		{"request-type-changed", Breaking, rowChangeType, "What a request contains has another type.", "Send a value of the new type."},
		{"request-type-narrowed", Breaking, rowTighten, "A request takes fewer types of value.", "Send a value of a type that is still taken."},
		{"request-type-widened", NonBreaking, rowRelax, "A request takes more types of value.", ""},
		{"request-null-refused", Breaking, rowTighten, "A request may not contain null there any more.", "Leave the field out, or send a value."},
		{"request-null-allowed", NonBreaking, rowRelax, "A request may contain null there.", ""},
		{"request-format-changed", Breaking, rowChangeType, "What a request contains has another format.", "Send a value in the new format."},
		{"request-enum-value-removed", Breaking, rowTighten, "A request may not contain a value of an enumeration any more.", "Send one of the values that are left."},
		{"request-enum-value-added", Typed, rowEnum, "A request may contain a new value of an enumeration.", "Generate types anew where a program lists all values."},
		{"request-enum-closed", Breaking, rowTighten, "A request may contain listed values only.", "Send one of the listed values."},
		{"request-enum-opened", NonBreaking, rowRelax, "A request may contain any value, not listed ones only.", ""},
		{"request-constraint-tightened", Breaking, rowTighten, "What a request may contain is more restricted.", "Send only what the new restriction allows."},
		{"request-constraint-relaxed", NonBreaking, rowRelax, "What a request may contain is less restricted.", ""},
		{"request-constraint-changed", Breaking, rowTighten, "What a request may contain is restricted in another way.", "Check that what is sent satisfies the new restriction."},
		{"request-variant-removed", Breaking, rowTighten, "A request may not have one of its forms any more.", "Send one of the forms that are left."},
		{"request-variant-added", NonBreaking, rowRelax, "A request may have another form, too.", ""},
		{"request-default-changed", Breaking, rowSemantics, "What is left out of a request means something else.", "Send the old default where it is meant."},
	}
}

func receivedRules() []Rule {
	return []Rule{
		{"response-field-removed", Breaking, rowRemoveField, "A field is gone.", "Do without the field."},
		{"response-field-renamed", Breaking, rowRemoveField, "A field is gone, and one of the same shape is new.", "Read the field by its new name."},
		{"response-field-added", NonBreaking, rowAddField, "A field is new.", ""},
		{"response-field-became-optional", Breaking, rowRemoveField, "A field that was always there may be absent.", "Expect that the field is absent."},
		{"response-field-became-required", NonBreaking, rowAddField, "A field is always there.", ""},
		{"response-type-changed", Breaking, rowChangeType, "A value has another type.", "Read a value of the new type."},
		{"response-type-widened", Breaking, rowChangeType, "A value may have another type, too.", "Read values of every type listed."},
		{"response-type-narrowed", NonBreaking, rowWorks, "A value has one of fewer types.", ""},
		{"response-null-allowed", Breaking, rowChangeType, "A value may be null.", "Expect null."},
		{"response-null-excluded", NonBreaking, rowWorks, "A value is never null.", ""},
		{"response-format-changed", Breaking, rowChangeType, "A value has another format.", "Read the new format."},
		{"response-enum-value-removed", Breaking, rowRemoveField, "A value of an enumeration is not sent any more: who waits for it waits for ever.", "Do not wait for the value."},
		{"response-enum-value-added", Typed, rowEnum, "An enumeration has a new value.", "Have an answer for values that are not known."},
		{"response-enum-opened", Typed, rowEnum, "A value may be any, not a listed one only.", "Have an answer for values that are not known."},
		{"response-enum-closed", NonBreaking, rowWorks, "A value is one of a list.", ""},
		{"response-constraint-tightened", NonBreaking, rowWorks, "More is promised about a value.", ""},
		{"response-constraint-relaxed", NonBreaking, rowRelax, "Less is promised about a value.", ""},
		{"response-constraint-changed", Breaking, rowChangeType, "A value has another form.", "Check that what reads the value takes the new form."},
		{"response-variant-removed", NonBreaking, rowWorks, "A value has one of fewer forms.", ""},
		{"response-variant-added", Breaking, rowChangeType, "A value may have another form, too.", "Read the new form."},
		{"response-kind-added", Typed, rowEnum, "A value may have another form, named by its discriminator.", "Have an answer for kinds that are not known."},
	}
}

// graphRules are the rules about GraphQL schemas.
func graphRules() []Rule {
	return []Rule{
		{"graphql-operation-removed", Breaking, rowGraphRemove, "A kind of operation is gone.", "Stop using it."},
		{"graphql-operation-added", NonBreaking, rowGraphAdd, "A kind of operation is new.", ""},
		{"graphql-type-removed", Breaking, rowGraphRemove, "A type is gone.", "Stop naming the type."},
		{"graphql-type-added", NonBreaking, rowGraphAdd, "A type is new.", ""},
		{"graphql-kind-changed", Breaking, rowGraphRemove, "A type is of another kind.", "Use the type as what it is now."},
		{"graphql-scalar-changed", Breaking, rowGraphRemove, "A scalar has another form.", "Read and write the scalar in the new form."},
		{"graphql-field-removed", Breaking, rowGraphRemove, "A field of a type is gone.", "Stop selecting the field."},
		{"graphql-field-renamed", Breaking, rowGraphRemove, "A field of a type is gone, and one of the same shape is new.", "Select the field by its new name."},
		{"graphql-field-added", NonBreaking, rowGraphAdd, "A type has a new field.", ""},
		{"graphql-field-type-changed", Breaking, rowGraphRemove, "A field has another type, or may be null.", "Read the new type."},
		{"graphql-field-type-narrowed", NonBreaking, rowGraphImplicit, "A field is never null.", ""},
		{"graphql-argument-removed", Breaking, rowGraphRemove, "An argument is gone.", "Stop sending the argument."},
		{"graphql-argument-added", NonBreaking, rowGraphAdd, "An optional argument is new.", ""},
		{"graphql-argument-added-required", Breaking, rowGraphRemove, "A required argument is new.", "Send the argument."},
		{"graphql-argument-type-tightened", Breaking, rowGraphRemove, "An argument has another type, or may not be null.", "Send the new type."},
		{"graphql-argument-type-relaxed", NonBreaking, rowGraphImplicit, "An argument may be null.", ""},
		{"graphql-input-field-removed", Breaking, rowGraphRemove, "A field of an input is gone.", "Stop sending the field."},
		{"graphql-input-field-renamed", Breaking, rowGraphRemove, "A field of an input is gone, and one of the same shape is new.", "Send the field by its new name."},
		{"graphql-input-field-added", NonBreaking, rowGraphAdd, "An optional field of an input is new.", ""},
		{"graphql-input-field-added-required", Breaking, rowGraphInput, "A non-null field of an input is new and has no default.", "Send the field."},
		{"graphql-input-field-type-tightened", Breaking, rowGraphRemove, "A field of an input has another type, or may not be null.", "Send the new type."},
		{"graphql-input-field-type-relaxed", NonBreaking, rowGraphImplicit, "A field of an input may be null.", ""},
		{"graphql-default-changed", Breaking, rowGraphRemove, "What is left out means something else.", "Send the old default where it is meant."},
		{"graphql-default-added", NonBreaking, rowGraphImplicit, "What is left out has a default.", ""},
		{"graphql-one-of-added", Breaking, rowGraphRemove, "An input must have exactly one of its fields.", "Send one field only."},
		{"graphql-one-of-removed", NonBreaking, rowGraphImplicit, "An input may have several of its fields.", ""},
		{"graphql-enum-value-removed", Breaking, rowGraphRemove, "A value of an enum is gone.", "Neither send nor wait for the value."},
		{"graphql-enum-value-added", NonBreaking, rowGraphAdd, "An enum has a new value.", ""},
		{"graphql-union-member-removed", Breaking, rowGraphRemove, "A union has lost a type.", "Stop selecting the type in the union."},
		{"graphql-union-member-added", Typed, rowGraphAdd, "A union has another type, too.", "Have an answer for types that are not known."},
		{"graphql-interface-removed", Breaking, rowGraphRemove, "A type no longer has an interface.", "Stop selecting the type by the interface."},
		{"graphql-interface-added", Typed, rowGraphAdd, "A type has another interface, which so has another type.", "Have an answer for types that are not known."},
		{"graphql-directive-removed", Breaking, rowGraphRemove, "A directive is gone.", "Stop using the directive."},
		{"graphql-directive-added", NonBreaking, rowGraphAdd, "A directive is new.", ""},
		{"graphql-directive-location-removed", Breaking, rowGraphRemove, "A directive may not stand there any more, or not twice.", "Take the directive away from there."},
		{"graphql-directive-location-added", NonBreaking, rowGraphImplicit, "A directive may stand in another place, too.", ""},
		{"graphql-deprecated", NonBreaking, rowGraphRetire, "Something is deprecated and can still be selected.", ""},
		{"graphql-undeprecated", NonBreaking, rowGraphRetire, "Something in the schema is no longer deprecated.", ""},
	}
}
