import { z } from 'zod';

/** The wire protocol that the SDK speaks. */
export const API_VERSION = '2026-03-12';

/** The longest text that ACS speaks. */
const MOST_CHARACTERS = 4_000;

const E164 = /^\+[1-9]\d{6,14}$/;

const phoneNumber = z.strictObject({ value: z.string().regex(E164), isAnonymous: z.literal(false) });

const isPublicOrLoopback = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(hostname));
};

const callee = z
  .strictObject({ kind: z.literal('phoneNumber'), rawId: z.string(), phoneNumber })
  .refine((target) => target.rawId === `4:${target.phoneNumber.value}`, 'rawId is not that of the number');

/**
 * The body of `POST /calling/callConnections`. The caller is a number, or the resource account of a Teams Phone extension. ACS takes https
 * callbacks alone; this takes plain http on this machine too.
 */
export const createCallBody = z
  .strictObject({
    targets: z.tuple([callee]),
    sourceCallerIdNumber: phoneNumber.optional(),
    teamsAppSource: z.strictObject({ appId: z.guid() }).optional(),
    operationContext: z.string().max(5_000).optional(),
    callbackUri: z.string().refine(isPublicOrLoopback, 'must be an https URL'),
    callIntelligenceOptions: z
      .strictObject({ cognitiveServicesEndpoint: z.string().refine((text) => URL.canParse(text)) })
      .optional(),
  })
  .refine(
    ({ sourceCallerIdNumber, teamsAppSource }) =>
      (sourceCallerIdNumber === undefined) !== (teamsAppSource === undefined),
    'needs either sourceCallerIdNumber or teamsAppSource',
  );

/** The parts of a request for a call that the simulator uses. */
export type CreateCallBody = z.infer<typeof createCallBody>;

/** The body of `POST /calling/callConnections/{id}:play`. */
export const playBody = z.strictObject({
  playSources: z.tuple([
    z.strictObject({
      kind: z.literal('text'),
      text: z.strictObject({
        text: z.string().min(1).max(MOST_CHARACTERS),
        sourceLocale: z.literal('en-US'),
        voiceKind: z.enum(['female', 'male']),
      }),
    }),
  ]),
  playTo: z.tuple([]),
  playOptions: z.strictObject({ loop: z.boolean() }),
  operationContext: z.string().max(5_000),
});

/** A request to speak. */
export type PlayBody = z.infer<typeof playBody>;

/**
 * The body of `POST /calling/callConnections/{id}:startContinuousDtmfRecognition`. The SDK names the callee there without a kind.
 */
export const listenBody = z.strictObject({
  targetParticipant: z.strictObject({ rawId: z.string(), phoneNumber }),
  operationContext: z.string().max(5_000).optional(),
});

/** A request to listen for keys. */
export type ListenBody = z.infer<typeof listenBody>;

/** An error as ACS answers it. */
export const errorBody = (code: string, message: string) => ({ error: { code, message } });

/** The headers by which a request that is sent again is carried out only once. */
export const repeatabilityHeaders = z.object({
  'repeatability-request-id': z.uuid(),
  'repeatability-first-sent': z.string().refine((text) => new Date(text).toUTCString() === text, 'is not an HTTP date'),
});
