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

/** The log of what happens outside any invocation: start-up, background commits. In Azure its lines are in the category `Host.Function.Console`. */
/* oxlint-disable no-console -- the one place that writes to the console: the host collects these lines */
export const appLog: Log = {
  info: (event, fields = {}) => console.info(line(event, fields)),
  warn: (event, fields = {}) => console.warn(line(event, fields)),
  error: (event, fields = {}) => console.error(line(event, fields)),
};
/* oxlint-enable no-console */

/**
 * Runs the work of one invocation with its log. Each line carries the id of the invocation, which the answer has as `X-Request-Id`, and the id
 * of its trace. Work may continue after the answer. The host ignores lines of an invocation that is over, so they are written as lines of `appLog`.
 *
 * @example inInvocation(context, async (log) => log.info('events recorded', { recorded: 12 }))
 *   // {"event":"events recorded","recorded":12,"invocation_id":"…"}
 */
export const inInvocation = async <Result>(
  context: InvocationContext,
  work: (log: Log) => Promise<Result>,
): Promise<Result> => {
  const own = { invocation_id: context.invocationId, trace_id: traceIdOf(context.traceContext?.traceParent) };
  let isOver = false;
  const writer =
    (level: keyof Log): Log[typeof level] =>
    (event, fields) => {
      const all = { ...fields, ...own };
      if (isOver) appLog[level](event, all);
      else context[level](line(event, all));
    };
  try {
    return await work({ info: writer('info'), warn: writer('warn'), error: writer('error') });
  } finally {
    isOver = true;
  }
};
