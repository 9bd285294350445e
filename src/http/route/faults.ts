import type * as z from 'zod';

import type { FaultCode } from '../problem-types.ts';
import { quotable } from '../problem.ts';

/** One thing that is wrong with a value. */
export interface Fault {
  readonly code: FaultCode;
  /** From the whole value to its faulty part. */
  readonly path: readonly PropertyKey[];
  readonly detail: string;
}

/** Parameters of an issue that {@link fault} makes, for the answer. */
interface FaultParams {
  readonly code: FaultCode;
}

/** An issue of a schema's own rule, with its code. @example context.addIssue(fault('too_long', 'is longer than 128 characters')) */
export const fault = (code: FaultCode, message: string, where: { path?: PropertyKey[] } = {}) => {
  const params: FaultParams = { code };
  return { code: 'custom' as const, message, params: { ...params }, ...where };
};

/** The faults of a value by a schema, made lazily. Each unknown member is a separate fault. */
export function* faultsOf(
  { issues }: { readonly issues: readonly z.core.$ZodIssue[] },
  value: unknown,
  unknownDetail = (_name: string) => 'is unknown',
): Generator<Fault> {
  for (const issue of issues) {
    const { path, message: detail } = issue;
    const inside = issue.code === 'invalid_union' ? insideOf(issue) : undefined;
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) yield { code: 'unknown', path: [...path, key], detail: unknownDetail(key) };
    } else if (issue.code === 'custom' && isFaultParams(issue.params)) yield { ...issue.params, path, detail };
    else if (inside !== undefined) yield* faultsOf(inside, value, unknownDetail);
    else yield { code: codeOf(issue, value), path, detail };
  }
}

/** The first items of a list, and its length: an answer must not become larger than its request. */
export interface Listed<Item> {
  readonly first: readonly Item[];
  readonly total: number;
}

/** @param most the maximum number of items to keep */
export const listed = <Item>(items: Iterable<Item>, most: number): Listed<Item> => {
  const first: Item[] = [];
  let total = 0;
  for (const item of items) {
    if (total < most) first.push(item);
    total += 1;
  }
  return { first, total };
};

/** The fault inside the alternative that fits the value best; undefined if no alternative fits. */
const insideOf = ({ errors, path }: z.core.$ZodIssueInvalidUnion) => {
  const meant = errors.find((issues) => issues.length > 0 && issues.every(isInside));
  return meant && { issues: meant.map((one) => Object.assign(one, { path: [...path, ...one.path] })) };
};

const isInside = ({ path, code }: z.core.$ZodIssue): boolean => path.length > 0 || code === 'unrecognized_keys';

const isFaultParams = (params: unknown): params is FaultParams =>
  typeof params === 'object' && params !== null && 'code' in params;

const codeOf = (issue: z.core.$ZodIssue, value: unknown): FaultCode => {
  const at = valueAt(value, issue.path);
  if (at === undefined) return 'missing';
  if (at === '' || (Array.isArray(at) && at.length === 0)) return 'empty';
  if (issue.code === 'too_big' && Array.isArray(at)) return 'too_many';
  if (issue.code === 'too_big' && typeof at === 'string') return 'too_long';
  return (issue.code === 'too_big' || issue.code === 'too_small') && typeof at === 'number'
    ? 'out_of_range'
    : 'invalid';
};

/** The value at the end of a path; undefined if the path leads nowhere. */
export const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (at, step) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, step) ? Reflect.get(at, step) : undefined,
    value,
  );

/** The path of a fault in the form for sentences: `data.camera_id`. */
export const fieldOf = (path: readonly PropertyKey[]): string => path.map((step) => quotable(String(step))).join('.');

/**
 * A JSON Pointer (RFC 6901) to the faulty part. It ends before a name that must not be repeated: a very long name, or perhaps a phone
 * number.
 */
export const pointerOf = (path: readonly PropertyKey[]): string => {
  const steps: string[] = [];
  for (const step of path) {
    const name = String(step);
    if (name !== '' && quotable(name) !== name) break;
    steps.push(`/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`);
  }
  return steps.join('');
};
