import type { ServerResponse } from 'node:http';

import { z } from 'zod';

/** What a request is answered with. */
export interface Answer {
  readonly status: number;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer, or what happens in place of one: nothing, or a connection that breaks. */
export type Reply = Answer | 'hangs' | 'answer lost';

/** A request that a provider does not carry out. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly answer: Answer;
  /** False: the app could not know better. */
  readonly isMistake: boolean;

  constructor(answer: Answer, reason: string, isMistake = true) {
    super(reason);
    this.answer = answer;
    this.isMistake = isMistake;
  }
}

/** Answers a request. */
export const send = (response: ServerResponse, { status, body, headers }: Answer): void => {
  response.writeHead(status, { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers });
  response.end(body === undefined ? undefined : JSON.stringify(body));
};

/** A text that is JSON. */
export const jsonText = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue('not JSON');
    return z.NEVER;
  }
});
