/* Types for `tsc` (tsconfig.json). What a selector finds and where an event happened depends on the templates, which tsc does
   not see: these are `any`. Everything between scripts is checked. */

interface ParentNode {
  querySelector(selectors: string): any;
  querySelectorAll(selectors: string): NodeListOf<any>;
}

interface Element {
  closest(selectors: string): any;
}

interface EventTarget {
  addEventListener(type: string, listener: (event: any) => void, options?: boolean | AddEventListenerOptions): void;
}

interface Document {
  readonly activeElement: any;
  addEventListener(type: string, listener: (event: any) => void, options?: boolean | AddEventListenerOptions): void;
}

interface HTMLElement {
  addEventListener(type: string, listener: (event: any) => void, options?: boolean | AddEventListenerOptions): void;
}

interface Window {
  /** Swagger UI, loaded by the page of the API. */
  SwaggerUIBundle?: any;
}
