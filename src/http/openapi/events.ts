import { recordAnswerSchema, recordProblemSchema } from '../answers.ts';
import { cameraEventSchema } from '../event-message.ts';
import { MAX_EVENTS, MAX_EVENTS_BYTES } from '../events.ts';
import {
  answer,
  content,
  jsonSchema,
  type NamedSchemas,
  type Paths,
  problemAnswer,
  schemaRef,
  storageUnavailable,
  unexpected,
  withFunctionKey,
} from './operation.ts';

/** The schemas that the events' paths refer to. */
export const eventSchemas = (): NamedSchemas => ({
  CameraEvent: jsonSchema(cameraEventSchema, 'input'),
  CameraEvents: { type: 'array', items: schemaRef('CameraEvent'), maxItems: MAX_EVENTS },
  Recorded: jsonSchema(recordAnswerSchema, 'output'),
  RecordProblem: jsonSchema(recordProblemSchema, 'output'),
});

/** Recording of activity, and the handshake before it. */
export const eventPaths = (): Paths => ({
  '/api/events': {
    post: {
      operationId: 'recordEvents',
      tags: ['events'],
      summary: 'Record what happened',
      description: [
        'A CloudEvent or a batch of them. Each tells the whole truth about the facets that it carries, as of its `time`; the newest wins, so',
        'sending anything again, in any order, is always safe. The answer comes after everything is stored.',
        `At most ${MAX_EVENTS} events and ${MAX_EVENTS_BYTES} bytes.`,
      ].join('\n'),
      security: withFunctionKey.security,
      requestBody: {
        required: true,
        content: {
          ...content({
            schema: 'CameraEvents',
            mediaTypes: ['application/cloudevents-batch+json', 'application/json'],
            examples: { batch: [DETECTED, REVIEWED] },
          }),
          ...content({
            schema: 'CameraEvent',
            mediaTypes: ['application/cloudevents+json'],
            examples: { single: DETECTED },
          }),
        },
      },
      responses: {
        '200': answer('Everything is stored.', {
          schema: 'Recorded',
          examples: { recorded: { recorded: 2, unchanged: 0 } },
        }),
        '400': problemAnswer(
          'Some events are wrong: `errors` names each by its index; the others are stored, and the counts say so. Or the body is none.',
          {
            title: 'Bad Request',
            status: 400,
            detail: '1 of 2 events are wrong; the others are recorded.',
            errors: [{ index: 1, detail: 'data.camera_id is empty' }],
            recorded: 1,
            unchanged: 0,
          },
          { schema: 'RecordProblem' },
        ),
        ...withFunctionKey.refusal,
        '413': problemAnswer('Too many events, or too large a body. Nothing was stored.', {
          title: 'Content Too Large',
          status: 413,
          detail: `There are 6000 events; a request takes ${MAX_EVENTS} at most.`,
        }),
        ...unexpected(),
        ...storageUnavailable(),
      },
    },
    options: {
      operationId: 'askToDeliver',
      tags: ['events'],
      summary: 'The CloudEvents webhook handshake',
      description: 'Event Grid asks before it delivers. Whoever has a function key may, at any rate.',
      security: withFunctionKey.security,
      parameters: [
        {
          name: 'WebHook-Request-Origin',
          in: 'header',
          required: true,
          description: 'Who would deliver.',
          schema: { type: 'string', minLength: 1 },
          example: 'eventgrid.azure.net',
        },
        {
          name: 'WebHook-Request-Rate',
          in: 'header',
          description: 'How many requests a minute it would send.',
          schema: { type: 'string' },
          example: '120',
        },
      ],
      responses: {
        '200': answer('It may.', undefined, ['Allow', 'WebHook-Allowed-Origin', 'WebHook-Allowed-Rate']),
        '400': problemAnswer('The header that says who asks is missing.', {
          title: 'Bad Request',
          status: 400,
          detail: 'The header WebHook-Request-Origin is missing.',
        }),
        ...withFunctionKey.refusal,
        ...unexpected(),
      },
    },
  },
});

const DETECTED = {
  specversion: '1.0',
  id: 'b1f5c1de-6f0c-4a53-9a1a-0b0cf8f6d9c1',
  source: '/ai/worker-3',
  type: 'CameraEvent.Changed',
  time: '2026-11-21T08:00:02.5Z',
  data: {
    event_id: 'f-1029',
    camera_id: 'ridge-04',
    ts_utc: '2026-11-21T08:00:00.123456Z',
    detections: { smoke: 1 },
  },
};

const REVIEWED = {
  specversion: '1.0',
  id: '0c9d0c55-8f42-4f0a-8b0a-3a8d3b6f5a77',
  source: '/review/desk-1',
  type: 'CameraEvent.Changed',
  time: '2026-11-21T08:05:40Z',
  data: {
    event_id: 'f-1029',
    camera_id: 'ridge-04',
    ts_utc: '2026-11-21T08:00:00.123456Z',
    reviewed: true,
    annotations: { fire: 1 },
  },
};
