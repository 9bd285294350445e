import * as fc from 'fast-check';

/** JSON values, with those that often break parsers. */
const anyJson = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(
    '',
    '\u0000',
    '__proto__',
    'constructor',
    '-1',
    '1e999',
    '9'.repeat(400),
    '\uD800',
    [[[[]]]],
    {},
    null,
  ),
);

/** A JSON value with one value in it, at any depth, replaced, or removed where it is a member. */
export const mutated = (value: unknown): fc.Arbitrary<unknown> => {
  const members: readonly (readonly [string, unknown])[] = Object.entries(Object(value));
  if (typeof value !== 'object' || members.length === 0) return anyJson;
  const inside = fc.constantFrom(...members).chain(([name, member]) =>
    fc.option(mutated(member), { nil: undefined, freq: 6 }).map((other) => {
      if (Array.isArray(value)) return value.with(Number(name), other);
      return Object.fromEntries([...members, [name, other]]);
    }),
  );
  return fc.oneof({ weight: 1, arbitrary: anyJson }, { weight: 5, arbitrary: inside });
};
