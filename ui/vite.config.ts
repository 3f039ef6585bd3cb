import { defineConfig, type Plugin } from 'vite'

/** The server that `npm run ui` passes the API's calls to. */
const target = process.env['VAULT_ADDR'] ?? 'http://127.0.0.1:8200'

/** The skeleton in index.html is shown as soon as it has its style, however slowly the scripts arrive. */
const styleFirst: Plugin = {
  name: 'style-first',
  transformIndexHtml: {
    order: 'post',
    handler: (html) => {
      const [style = ''] = /<link rel="stylesheet"[^>]*>\s*/.exec(html) ?? []
      return html.replace(style, '').replace('<script', `${style}<script`)
    },
  },
}

export default defineConfig(({ command }) => ({
  root: import.meta.dirname,
  plugins: [styleFirst],
  // the server writes the `../` that a page further down needs
  base: command === 'build' ? './' : '/ui/',
  // also where tests build it, which run with another NODE_ENV
  ...(command === 'build' && {
    define: { 'process.env.NODE_ENV': '"production"' },
    oxc: { jsx: { runtime: 'automatic', development: false } },
  }),
  cacheDir: '../node_modules/.cache/vite',
  server: { host: '127.0.0.1', port: 8201, strictPort: true, proxy: { '/v1': { target } } },
  build: {
    target: 'es2024',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1024,
  },
}))
