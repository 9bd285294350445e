import type { TableServiceClientOptions } from '@azure/data-tables';
import { z } from 'zod';

type AdditionalPolicy = NonNullable<TableServiceClientOptions['additionalPolicies']>[number];

const row = z.record(z.string(), z.unknown());
const page = z.looseObject({ value: z.array(row) });

const withNulls = (names: readonly string[], properties: z.infer<typeof row>): z.infer<typeof row> => ({
  ...Object.fromEntries(names.map((name) => [name, null])),
  ...properties,
});

/** Table Storage answers null for each selected property that a row lacks. Azurite leaves it out; this policy adds it. */
export const SELECTED_NULLS: AdditionalPolicy = {
  position: 'perRetry',
  policy: {
    name: 'selected nulls',
    sendRequest: async (request, next) => {
      const response = await next(request);
      const names = new URL(request.url).searchParams.get('$select')?.split(',') ?? [];
      if (names.length === 0 || response.status !== 200 || typeof response.bodyAsText !== 'string') return response;
      const body: unknown = JSON.parse(response.bodyAsText);
      const rows = page.safeParse(body);
      const filled = rows.success
        ? { ...rows.data, value: rows.data.value.map((one) => withNulls(names, one)) }
        : withNulls(names, row.parse(body));
      return { ...response, bodyAsText: JSON.stringify(filled) };
    },
  },
};
