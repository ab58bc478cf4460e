"use strict";
(() => {
  const place = document.getElementById("swagger-ui");
  window.ui = SwaggerUIBundle({
    domNode: place,
    url: place.dataset.openapi,
    validatorUrl: null, // the default asks another host
    queryConfigEnabled: false, // a link must not be able to load another description
    persistAuthorization: false, // the key stays in this page's memory
    layout: "BaseLayout",
    deepLinking: true,
    displayRequestDuration: true,
    defaultModelsExpandDepth: 0,
    docExpansion: "list",
    syntaxHighlight: { theme: "tomorrow-night" }, // the default's numbers are too dark to read
  });
})();
