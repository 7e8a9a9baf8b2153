/**
 * Response headers that control a proxy, CDN, server or framework in front of the service. The answer of a task must
 * not contain them. Each row is a prefix of header names, with the product that acts on these headers.
 *
 * The list can never be complete, so its prefixes cover whole families, including future headers of a family. If tasks
 * may use a word in their own headers, the row contains the complete name of the header that acts.
 */
const ACTS: Readonly<Record<string, string>> = {
  // Servers, proxies and gateways
  "x-accel": "nginx: sends a file or another location, changes cache, buffers and rate",
  "x-accelerator": "Squid: X-Accelerator-Vary",
  "x-apisix": "Apache APISIX",
  "x-ats": "Apache Traffic Server",
  "x-arr": "IIS Application Request Routing",
  "x-caddy": "Caddy",
  "x-compress-hint": "H2O",
  "x-envoy": "Envoy: takes a node out of service, degrades it, retries",
  "x-forwarded": "proxies that read the headers of answers",
  "x-haproxy": "HAProxy",
  "x-http2": "H2O, nghttpx: server push",
  "x-istio": "Istio",
  "x-kong": "Kong: X-Kong-Limit charges the caller's limit",
  "x-lighttpd": "lighttpd: sends a file, sets a rate",
  "x-litemage": "LiteSpeed, for Magento",
  "x-litespeed": "LiteSpeed: sends another location, changes and purges its cache",
  "x-lsadc": "LiteSpeed's load balancer",
  "x-lscache": "LiteSpeed",
  "x-oracle": "Oracle Web Cache",
  "x-original": "IIS and others: replaces the URL",
  "x-pagespeed": "mod_pagespeed",
  "x-passenger": "Phusion Passenger",
  "x-psa": "mod_pagespeed",
  "x-reproxy": "Perlbal, H2O: answers with the content of another URL",
  "x-reverse-proxy": "Varnish with FOSHttpCache: how long an answer is cached",
  "x-rewrite": "IIS, Cherokee: replaces the URL",
  "x-send-file": "Apache, the older name",
  "x-sendfile": "Apache, lighttpd, uWSGI, Passenger, Caddy: sends a file of the machine",
  "x-squid": "Squid",
  "x-surrogate": "Fastly, Varnish: controls the cache",
  "x-traefik": "Traefik",
  "x-tyk": "Tyk",
  "x-uwsgi": "uWSGI",
  "x-varnish": "Varnish",
  "x-weblogic": "WebLogic's plug-ins for Apache and IIS: replaces their list of nodes",

  // Conventions in the rules of caches such as Varnish and Fastly
  "x-cache-control": "a Cache-Control only for the cache",
  "x-cache-tag": "CDNs: tags for purging answers",
  "x-cache-tags": "Varnish with FOSHttpCache: tags for purging answers",
  "x-do-esi": "Varnish: runs the body as Edge Side Includes",
  "x-drupal-cache": "Acquia, Varnish for Drupal: tags for purging answers",
  "x-esi": "Varnish, Akamai: runs the body as Edge Side Includes",
  "x-magento": "Varnish for Magento: tags for purging answers",
  "x-ttl": "Varnish: how long an answer is cached",
  "x-xkey": "Varnish: tags for purging answers",

  // Clouds and CDNs
  "x-0": "Edgio",
  "x-akamai": "Akamai",
  "x-amz": "AWS: CloudFront, Lambda, S3",
  "x-amzn": "AWS: API Gateway, load balancers",
  "x-appengine": "Google App Engine: X-AppEngine-BlobKey sends a stored blob",
  "x-azure": "Azure Front Door",
  "x-bunny": "bunny.net",
  "x-cdn": "CDNs",
  "x-cf": "Cloudflare",
  "x-cloud-trace": "Google Cloud",
  "x-cloudfront": "AWS CloudFront",
  "x-ec": "Edgio",
  "x-edg": "Edgio",
  "x-edge": "Akamai: X-Edge-Control",
  "x-fastly": "Fastly",
  "x-fly": "Fly.io",
  "x-gfe": "Google front ends",
  "x-goog": "Google Cloud",
  "x-google": "Google front ends",
  "x-heroku": "Heroku",
  "x-ms": "Azure App Service, Static Web Apps",
  "x-netlify": "Netlify",
  "x-nf": "Netlify",
  "x-now": "Vercel",
  "x-vercel": "Vercel",

  // Frameworks that forward the answer of another server
  "x-action-redirect": "Next.js",
  "x-action-revalidated": "Next.js",
  "x-astro": "Astro: X-Astro-Reroute",
  "x-body-eval": "Symfony's HttpCache: runs the body as PHP",
  "x-body-file": "Symfony's HttpCache: sends a file of the machine",
  "x-cascade": "Rack, Rails: calls the next application",
  "x-content-digest": "Symfony's HttpCache, Rack::Cache: reads the body from their store",
  "x-invoke": "Next.js",
  "x-matched-path": "Next.js, Vercel",
  "x-middleware": "Next.js: rewrites, sets request headers and cookies",
  "x-next": "Next.js",
  "x-nextjs": "Next.js: rewrites, redirects, cache",
  "x-nitro": "Nuxt",
  "x-prerender": "Next.js, Prerender.io",
  "x-rack": "Rack::Cache",
  "x-remix": "Remix: X-Remix-Redirect",
  "x-sveltekit": "SvelteKit",
  "x-symfony": "Symfony",
};

const ACTING = new RegExp(`^(?:${Object.keys(ACTS).join("|")})(?![a-z])`);

/** @param name the name of a response header, in lower case */
export function isActing(name: string): boolean {
  return ACTING.test(name);
}
