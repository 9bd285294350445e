// orval.config.mjs
const output = { target: 'orval.ts', client: 'fetch', baseUrl: 'http://localhost:7071' };
export default { api: { input: 'http://localhost:7071/api/openapi.json', output } };
