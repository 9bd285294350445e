import type { InvocationContext } from '@azure/functions';

/** The fields of a log line. Never a key, a body or a full phone number. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>> & {
  /** Reserved: a field named `event` would overwrite the event name, which queries and alerts use. */
  readonly event?: never;
};

/** Where log lines go: one JSON object a line, `event` first, so that an operator can query by field. */
export interface Log {
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

const line = (event: string, fields: LogFields): string => JSON.stringify({ event, ...fields });

/** The id of the trace that a request belongs to, in a `traceparent` of W3C Trace Context; undefined without a trace. */
const traceIdOf = (traceParent: string | undefined): string | undefined =>
  /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-/.exec(traceParent ?? '')?.[1];

/**
 * The log of one invocation; each line carries its id, which the answer has as `X-Request-Id`, and the id of its trace.
 *
 * @example invocationLog(context).info('events recorded', { recorded: 12 })
 *   // {"event":"events recorded","recorded":12,"invocation_id":"…"}
 */
export const invocationLog = (context: InvocationContext): Log => {
  const own = { invocation_id: context.invocationId, trace_id: traceIdOf(context.traceContext?.traceParent) };
  return {
    info: (event, fields = {}) => context.info(line(event, { ...fields, ...own })),
    warn: (event, fields = {}) => context.warn(line(event, { ...fields, ...own })),
    error: (event, fields = {}) => context.error(line(event, { ...fields, ...own })),
  };
};

/** The log of what happens outside any invocation: start-up, background commits. */
/* oxlint-disable no-console -- the one place that writes to the console: the host collects these lines */
export const appLog: Log = {
  info: (event, fields = {}) => console.info(line(event, fields)),
  warn: (event, fields = {}) => console.warn(line(event, fields)),
  error: (event, fields = {}) => console.error(line(event, fields)),
};
/* oxlint-enable no-console */
