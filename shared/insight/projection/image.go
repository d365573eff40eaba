package projection

import (
	"errors"

	"orgops/shared/base/fastjson"
	"orgops/shared/storage/store"
)

var errNotObject = errors.New("not a JSON object")

// decode decodes the fields of T from an image. A missing image or field becomes a zero value. A field of another type is an
// error.
func decode[T any](image *store.Image) (T, error) {
	return decodeBy[T](fastjson.Unmarshal, image)
}

// decodeBy does what decode does by a function like fastjson.Unmarshal.
func decodeBy[T any](unmarshal func([]byte, any) error, image *store.Image) (T, error) {
	var none T
	if image == nil {
		return none, nil
	}
	var v *T
	if err := unmarshal(image.Body, &v); err != nil {
		return none, err
	}
	if v == nil { // the text is null
		return none, errNotObject
	}
	return *v, nil
}
