/** How to reach one Azure service: with a key (a connection string) or with the app's own identity (an endpoint). */
export type Connection = { readonly connectionString: string } | { readonly endpoint: string };
