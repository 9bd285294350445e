import { z } from 'zod';

/** The answer to a request. */
export interface Answer {
  readonly status: number;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer. In its place, a request may wait forever, or its connection breaks. */
export type Reply = Answer | 'hangs' | 'answer lost';

/** An HTTP status, and the code of a provider. */
export type ErrorCode = readonly [status: number, code: string | number];

/** Thrown for a request that is refused. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: ErrorCode;
  /** False: the app could not know that the request would be refused. */
  readonly isMistake: boolean;

  constructor(code: ErrorCode, reason: string, isMistake = true) {
    super(reason);
    this.code = code;
    this.isMistake = isMistake;
  }
}

export const jsonText = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue('not JSON');
    return z.NEVER;
  }
});
