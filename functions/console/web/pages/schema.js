// Module schema makes the fields of a form from a connector's JSON Schema, and a body from what was typed. Schemas are flat:
// one object whose properties are texts, numbers, switches, lists of texts, or texts by name; other objects, and lists of objects, are typed as JSON. The server validates.

/** kindOf names the control for a property. */
function kindOf(property) {
  const type = Array.isArray(property.type) ? property.type.find((t) => t !== 'null') : property.type;
  if (property.writeOnly && type !== 'object') return 'secret';
  if (property.enum || property.oneOf) return 'choice';
  if (type === 'boolean') return 'switch';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'array') return property.items?.type === 'object' ? 'json' : 'list';
  if (type === 'object') return property.properties || (property.additionalProperties?.type ?? 'string') !== 'string' ? 'json' : 'pairs';
  return property.maxLength > 500 && property.format !== 'uri' ? 'text' : 'line';
}

/** rank orders fields: what is required first, and of that what takes one line. */
const rank = (f) => (f.required ? 0 : 2) + (f.kind === 'line' || f.required === false ? 0 : 1);

/** categories puts patterns such as memory.* before the single names. */
const categories = (choices) => choices && [...choices.filter((c) => String(c).endsWith('*')), ...choices.filter((c) => !String(c).endsWith('*'))];

/** fieldsOf lists the fields of a form: the required ones first, then in the schema's order. */
export function fieldsOf(root) {
  const required = new Set(root.required ?? []);
  const fields = Object.entries(root.properties ?? {}).map(([name, property]) => {
    const items = property.items ?? {};
    return {
      name, kind: kindOf(property), secret: Boolean(property.writeOnly), required: required.has(name), title: property.title ?? name, about: property.description ?? '',
      choices: property.oneOf?.map((c) => c.const) ?? categories(property.enum ?? items.enum ?? null),
      labels: Object.fromEntries((property.oneOf ?? []).map((c) => [c.const, c.title])), fallback: property.default, format: property.format, least: property.minimum, most: property.maximum,
      suggestions: items.examples ?? null, example: (property.examples ?? [])[0] ?? exampleOf(root, name),
    };
  });
  return fields.sort((a, b) => rank(a) - rank(b));
}

/** exampleOf finds a property in the examples of its object. */
function exampleOf(root, name) {
  return (root.examples ?? []).map((e) => e?.[name]).find((v) => v !== undefined);
}

/** typed returns the texts of a form for a stored configuration. */
export function typed(fields, config = {}) {
  const form = {};
  for (const f of fields) {
    const value = config[f.name];
    if (f.kind === 'switch') form[f.name] = value === true;
    else if (value === undefined || value === null) form[f.name] = '';
    else if (f.kind === 'list') form[f.name] = value.join('\n');
    else if (f.kind === 'pairs') form[f.name] = Object.entries(value).map(([k, v]) => `${k}: ${v}`).join('\n');
    else if (f.kind === 'json') form[f.name] = JSON.stringify(value, null, 2);
    else form[f.name] = String(value);
  }
  return form;
}

const lines = (text) => text.split(/\n/).map((l) => l.trim()).filter(Boolean);

/** bodyOf returns the body for what was typed. Empty fields are left out. */
export function bodyOf(fields, form) {
  const body = {};
  for (const f of fields) {
    const value = form[f.name];
    if (f.kind === 'switch') { if (value) body[f.name] = true; continue; }
    if (value === undefined || value === '') {
      if (f.required && f.fallback !== undefined) body[f.name] = f.fallback; // the schema says what an empty field means
      continue;
    }
    if (f.kind === 'number') body[f.name] = Number.isNaN(Number(value)) ? value : Number(value);
    else if (f.kind === 'list') { const all = lines(value.replaceAll(',', '\n')); if (all.length) body[f.name] = all; }
    else if (f.kind === 'pairs') body[f.name] = Object.fromEntries(lines(value).map((l) => {
      const at = l.indexOf(':');
      return at < 0 ? [l, ''] : [l.slice(0, at).trim(), l.slice(at + 1).trim()];
    }));
    else if (f.kind === 'json') try { body[f.name] = JSON.parse(value); } catch { body[f.name] = value; }
    else body[f.name] = value;
  }
  return body;
}

/** fieldAt returns the name of the field that a JSON Pointer (RFC 6901) leads to, or null. */
export function fieldAt(pointer, fields) {
  const segments = String(pointer ?? '').replace(/^#/, '').split('/').slice(1).map((s) => s.replaceAll('~1', '/').replaceAll('~0', '~'));
  const first = segments[0] === 'body' ? segments[1] : segments[0];
  return fields.some((f) => f.name === first) ? first : null;
}
