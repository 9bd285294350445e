import type { TableServiceClientOptions } from '@azure/data-tables';

type Policy = NonNullable<TableServiceClientOptions['additionalPolicies']>[number]['policy'];

/**
 * Gives every double its type. Table Storage answers a whole double as `1.0` and an integer as `1`, both without a type: read as
 * JSON, they are the same.
 */
export const withTypedDoubles = (body: string): string =>
  body.replace(
    // The second choice takes every other string as a whole, so that nothing inside a string is taken for a property.
    /("(?:[^"\\]|\\.)*"):(-?\d+(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+))(?=[,}])|"(?:[^"\\]|\\.)*"/g,
    (text: string, name: string | undefined, double: string | undefined) =>
      name === undefined || double === undefined
        ? text
        : `${name.slice(0, -1)}@odata.type":"Edm.Double",${name}:"${double}"`,
  );

/** {@link withTypedDoubles} for every answer of a client of the SDK. */
export const TYPED_DOUBLES: { readonly policy: Policy; readonly position: 'perRetry' } = {
  policy: {
    name: 'typedDoubles',
    sendRequest: async (request, next) => {
      const response = await next(request);
      if (typeof response.bodyAsText === 'string') response.bodyAsText = withTypedDoubles(response.bodyAsText);
      return response;
    },
  },
  position: 'perRetry',
};
