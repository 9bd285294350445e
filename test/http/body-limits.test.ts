import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';

import { startApp, testEnvironment } from '../harness/app.ts';

const problemSchema = z.object({ detail: z.string() });
const tooLargeSchema = z.object({
  content: z.object({
    'application/problem+json': z.object({ examples: z.object({ problem: z.object({ value: problemSchema }) }) }),
  }),
});
const documentSchema = z.object({
  paths: z.record(
    z.string(),
    z.object({ post: z.object({ responses: z.object({ 413: tooLargeSchema.optional() }) }).optional() }),
  ),
});

/** A JSON array of so many bytes. */
const textOf = (bytes: number): string => `["${'x'.repeat(bytes - 4)}"]`;

it(
  'refuses a body from exactly the size on that the description of the endpoint names',
  { timeout: 60_000 },
  async () => {
    const app = await startApp({ environment: testEnvironment() });
    onTestFinished(() => app.stop());
    const { paths } = documentSchema.parse(await (await fetch(`${app.url}/api/openapi.json`)).json());
    const limited = Object.entries(paths).flatMap(([path, { post }]) => {
      const detail = post?.responses[413]?.content['application/problem+json'].examples.problem.value.detail;
      const most = /(\d+) bytes/.exec(detail ?? '')?.[1];
      // POST /api/events describes its limit of events in place of that of bytes.
      return detail === undefined || most === undefined ? [] : [{ path, detail, most: Number(most) }];
    });
    expect(limited.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['/api/AnomalyCallback', '/api/CustomCallback', '/api/notifications', '/api/test-call']),
    );
    for (const { path, detail, most } of limited) {
      const post = async (bytes: number): Promise<Response> =>
        fetch(`${app.url}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: textOf(bytes),
        });
      expect((await post(most)).status, path).toBe(400);
      const tooLarge = await post(most + 1);
      expect(tooLarge.status, path).toBe(413);
      expect(problemSchema.parse(await tooLarge.json()).detail, path).toBe(detail);
    }
  },
);
